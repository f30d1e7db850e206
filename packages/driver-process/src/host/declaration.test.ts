import { describe, expect, it } from '@jest/globals'

import { messages } from '../wire/messages.js'
import { readDeclaration } from './declaration.js'

const declared = {
  name: 'toy',
  contract: { min: 1, max: 1 },
  capabilities: {
    protocols: ['http'],
    pathMatches: [],
    headerMatches: [],
    upstreamIdentity: 'principal',
    modes: ['explicit'],
    standalone: true,
    ipFamilies: ['IPv4'],
    operatingSystems: ['linux'],
    drain: false,
    features: [],
  },
  configSchema: '{"type":"object","additionalProperties":false,"properties":{}}',
  version: '1.2.3',
  oldestProxyVersion: '',
} as const
const read = (message: Parameters<typeof messages.declaration.encode>[0]) =>
  readDeclaration(messages.declaration.decode(messages.declaration.encode(message)), 'toy')

describe('the declaration of a driver in another process', () => {
  it('crosses as the driver made it', () => {
    const { version, configSchema, oldestProxyVersion: _, ...rest } = declared
    expect(read(declared)).toEqual({ ...rest, configSchema: JSON.parse(configSchema) as object, version })
  })

  it('is refused with the reason where it comes from a driver of the first driver.proto, which had JSON in its place', () => {
    const json = Buffer.from('{"protocols":["http"]}')
    // name, contract_min, capabilities and contract_max of that time.
    const bytes = Buffer.concat([
      Buffer.from('\n\u0003toy\u0010\u0001\u001a'),
      Buffer.from([json.length]),
      json,
      Buffer.from('8\u0001'),
    ])
    expect(() => readDeclaration(messages.declaration.decode(bytes), 'toy')).toThrow(
      expect.objectContaining({
        code: 'OSM_DRIVER_CONTRACT',
        message: expect.stringContaining('driver toy declares no range of contract versions'),
      }),
    )
  })

  it('is refused where it has no capabilities', () => {
    const { capabilities: _, ...rest } = declared
    expect(() => read(rest)).toThrow('driver toy declares no capabilities')
  })

  it('is refused where an enum has a number that the contract does not know', () => {
    const bytes = messages.declaration.encode(declared)
    // Of `protocols`, which is the first field of the capabilities: one element, whose number is that of http.
    const at = bytes.indexOf(Buffer.from([10, 1, 1]))
    bytes[at + 2] = 99
    expect(() => readDeclaration(messages.declaration.decode(bytes), 'toy')).toThrow(
      expect.objectContaining({
        code: 'OSM_DRIVER_INVALID',
        message: expect.stringContaining('/capabilities/protocols/0'),
      }),
    )
  })
})
