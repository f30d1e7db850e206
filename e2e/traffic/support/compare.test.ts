import { describe, expect, it } from '@jest/globals'

import { compareObservations } from './compare.js'

describe('comparing what a client has seen beside the mesh and through it', () => {
  it('finds nothing where nothing differs', () => {
    const seen = { get: { status: 200, headers: { date: ['x'] } } }
    expect(compareObservations(seen, structuredClone(seen))).toEqual([])
  })

  it('names the exchange and the path of each value that differs', () => {
    expect(
      compareObservations(
        { get: { status: 200, headers: { etag: ['"1"'], server: ['nginx'] } } },
        { get: { status: 503, headers: { server: ['nginx', 'envoy'] } } },
      ),
    ).toEqual([
      { exchange: 'get', path: 'status', beside: 200, through: 503 },
      { exchange: 'get', path: 'headers.etag', beside: ['"1"'], through: undefined },
      { exchange: 'get', path: 'headers.server.1', beside: undefined, through: 'envoy' },
    ])
  })

  it('finds an exchange that is missing on one side', () => {
    expect(compareObservations({}, { get: { status: 200 } })).toEqual([
      { exchange: 'get', path: '', beside: undefined, through: { status: 200 } },
    ])
  })
})
