import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { addDefaults } from './add-defaults.js'
import type { JsonObject } from './keyed-lists.js'
import { fieldsOf, parseFields, unionOf } from './preset-fields.js'

describe('addDefaults', () => {
  const earlierPreset = {
    sidecar: { logLevel: 'error', sidecarDrivers: [{ sidecarName: 'envoy', proxyServerPort: 15128 }] },
    traffic: { enableEgress: true, inboundExternalAuthorization: { enable: false } },
  }
  const preset = {
    sidecar: {
      logLevel: 'info',
      sidecarClass: 'envoy',
      sidecarDrivers: [
        { sidecarName: 'envoy', proxyServerPort: 1, sidecarDisabledMTLS: false },
        { sidecarName: 'pipy', proxyServerPort: 6060 },
      ],
    },
    traffic: {
      enableEgress: false,
      inboundExternalAuthorization: { enable: true, port: 1 },
      interceptionMode: 'iptables',
    },
    observability: { osmLogLevel: 'info' },
  }
  const earlier = fieldsOf(earlierPreset)

  it('adds what is new and changes nothing that is there', () => {
    expect(addDefaults(earlierPreset, preset, earlier)).toEqual({
      sidecar: {
        logLevel: 'error',
        sidecarClass: 'envoy',
        sidecarDrivers: [
          { sidecarName: 'envoy', proxyServerPort: 15128, sidecarDisabledMTLS: false },
          { sidecarName: 'pipy', proxyServerPort: 6060 },
        ],
      },
      traffic: {
        enableEgress: true,
        inboundExternalAuthorization: { enable: false, port: 1 },
        interceptionMode: 'iptables',
      },
      observability: { osmLogLevel: 'info' },
    })
  })

  it('leaves removed what the user removed, with everything below', () => {
    const spec = { sidecar: { sidecarDrivers: [] }, traffic: {} }
    expect(addDefaults(spec, preset, earlier)).toEqual({
      sidecar: { sidecarClass: 'envoy', sidecarDrivers: [{ sidecarName: 'pipy', proxyServerPort: 6060 }] },
      traffic: { interceptionMode: 'iptables' },
      observability: { osmLogLevel: 'info' },
    })
  })

  it('adds all that is lacking where no preset is known to have been added', () => {
    expect(addDefaults({ traffic: { enableEgress: true } }, preset, {})).toEqual({
      ...preset,
      traffic: { ...preset.traffic, enableEgress: true },
    })
  })

  it.each([[null], ['text'], [[1]], [[{ sidecarName: 1 }]], [[{ sidecarName: 'a' }, { sidecarName: 'a' }]]])(
    'leaves a value of another form alone: %j',
    (sidecarDrivers) => {
      const spec = { sidecar: { sidecarDrivers } }
      expect(addDefaults(spec, preset, {}).sidecar).toMatchObject({ sidecarDrivers })
    },
  )

  const value = fc.letrec<{ object: JsonObject; value: unknown }>((tie) => ({
    object: fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), tie('value'), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
    value: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.constant(null), fc.array(fc.integer()), tie('object')),
  }))

  it('keeps every value of any user, and is done after one time', () => {
    fc.assert(
      fc.property(value.object, value.object, value.object, (spec, first, second) => {
        const known = fieldsOf(first)
        const added = addDefaults(spec, second, known)
        expect(contains(added, spec)).toBe(true)
        expect(addDefaults(added, second, unionOf(known, fieldsOf(second)))).toEqual(added)
      }),
    )
  })

  it('brings nothing back from a preset that is known already', () => {
    fc.assert(
      fc.property(value.object, value.object, (spec, preset) => {
        expect(addDefaults(spec, preset, fieldsOf(preset))).toEqual(spec)
      }),
    )
  })
})

describe('fieldsOf', () => {
  it('holds names and no values', () => {
    const fields = JSON.stringify(fieldsOf({ observability: { remoteLogging: { authorization: 'Bearer s3cret' } } }))
    expect(fields).toBe('{"observability":{"remoteLogging":{"authorization":true}}}')
    expect(parseFields(fields)).toEqual({ observability: { remoteLogging: { authorization: true } } })
  })

  it.each(['', '[]', '{"a":1}', '{"a":{"b":false}}', 'null'])('does not read %j', (text) => {
    expect(parseFields(text)).toBeUndefined()
  })
})

/** True if the first has everything of the second, value by value. */
function contains(whole: unknown, part: unknown): boolean {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) {
    return JSON.stringify(whole) === JSON.stringify(part)
  }
  if (typeof whole !== 'object' || whole === null) return false
  return Object.entries(part).every(
    ([name, member]) => Object.hasOwn(whole, name) && contains((whole as JsonObject)[name], member),
  )
}
