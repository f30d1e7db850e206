import { describe, expect, it } from '@jest/globals'
import { type AccessLog, type PartHash, type PartRef, PolicyReader } from '@osm-ts/driver-api/policy'

import { logFormat } from './log-format.js'

const mesh: PartRef = { kind: 'mesh', id: 'mesh', hash: 'x' as PartHash }

function read(accessLog: AccessLog) {
  const reader = new PolicyReader(() => {
    throw new Error('a log format refers to nothing')
  })
  return { format: logFormat(accessLog, reader, mesh), refusals: reader.refusals }
}

describe('formats of the access log', () => {
  it('are those of the codebase where nothing is requested', () => {
    expect(read({ enabled: true, format: 'json' }).format).toBeUndefined()
    expect(read({ enabled: false, format: 'text', template: 'x' }).format).toBeUndefined()
  })

  it('are lines of texts and commands', () => {
    const template = '50%% %REQ(X-One?:PATH):7%%PROTOCOL% end\n'
    expect(read({ enabled: true, format: 'text', template })).toEqual({
      format: {
        line: [
          '50% ',
          { command: 'REQ', header: 'x-one', otherwise: ':path', limit: 7 },
          { command: 'PROTOCOL' },
          ' end',
        ],
      },
      refusals: [],
    })
    expect(read({ enabled: true, format: 'text' }).refusals).toEqual([])
  })

  it('are objects of lines, in their order', () => {
    const template = '{"b":"%DURATION%","a":{"c":"x","d":""}}'
    expect(read({ enabled: true, format: 'json', template }).format).toEqual({
      fields: [
        { key: 'b', line: [{ command: 'DURATION' }] },
        {
          key: 'a',
          fields: [
            { key: 'c', line: ['x'] },
            { key: 'd', line: [] },
          ],
        },
      ],
    })
  })

  it('are told to have commands that Pipy knows nothing of', () => {
    const template = '{"a":"%TRAILER(X)% %CONNECTION_ID% %CONNECTION_ID%"}'
    expect(read({ enabled: true, format: 'json', template }).refusals).toEqual([
      {
        ref: mesh,
        pointer: '/accessLog/template',
        message: expect.stringContaining('nothing of %CONNECTION_ID%, %TRAILER%;') as unknown,
      },
    ])
  })
})
