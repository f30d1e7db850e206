import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { parseReportedRequest } from './reported-request.js'

const instance = { name: 'client-0', namespace: 'shop' }

describe('parseReportedRequest', () => {
  it('reads a line of the example programs', () => {
    const line = JSON.stringify({
      t: 5,
      client: 'c',
      target: 'web',
      path: '/',
      status: 0,
      error: 'ECONNRESET',
      ms: 2,
      failed: 1,
    })
    expect(parseReportedRequest(line, instance)).toEqual({
      time: 5,
      client: 'client-0',
      namespace: 'shop',
      target: 'web',
      path: '/',
      status: 0,
      error: 'ECONNRESET',
      durationMs: 2,
    })
  })

  it('takes other lines for what they are', () => {
    for (const line of ['', 'text', '{', '[]', '{"t":1}', '{"t":"1","target":"a","path":"b","status":1,"ms":1}'])
      expect(parseReportedRequest(line, instance)).toBeUndefined()
    fc.assert(fc.property(fc.json(), (text) => parseReportedRequest(text, instance) === undefined))
  })
})
