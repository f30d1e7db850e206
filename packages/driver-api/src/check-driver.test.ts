import { describe, expect, it } from '@jest/globals'

import { optionalFeatures, type Capabilities } from './capabilities.js'
import { capabilitiesForHost } from './capabilities-for-host.js'
import { checkDriver, validateCapabilities } from './check-driver.js'
import { hostContracts } from './contract.js'
import { annotationPrefix, driverKey, isDriverName } from './driver-name.js'

const capabilities: Capabilities = {
  protocols: ['http', 'tcp'],
  pathMatches: ['exact', 'prefix', 'regex'],
  headerMatches: [],
  upstreamIdentity: 'principal',
  modes: ['transparent'],
  standalone: false,
  ipFamilies: ['IPv4'],
  operatingSystems: ['linux'],
  drain: false,
  features: ['retries'],
}

/** Fails the test that calls it: a check only looks. */
function mustNotRun(): never {
  throw new Error('a check must not call the driver')
}

const driver = {
  name: 'mine',
  contract: hostContracts,
  capabilities,
  configSchema: { type: 'object', properties: {} },
  patch: mustNotRun,
  start: mustNotRun,
}

function pointers(value: unknown): readonly string[] {
  return checkDriver(value).map(({ pointer }) => pointer)
}

describe('checkDriver', () => {
  it('wants a version of a proxy, if there is one', () => {
    for (const oldestProxyVersion of ['1.37', '1.37.2', '', undefined])
      expect(pointers({ ...driver, oldestProxyVersion })).toEqual([])
    for (const oldestProxyVersion of [1.37, 'v1.37', '1', 'latest'])
      expect(pointers({ ...driver, oldestProxyVersion })).toEqual(['/oldestProxyVersion'])
  })

  it('finds nothing in a driver, and calls nothing of it', () => {
    expect(checkDriver(driver)).toEqual([])
  })

  it('accepts methods of a class', () => {
    class Mine {
      readonly name = 'mine'
      readonly contract = hostContracts
      readonly capabilities = capabilities
      readonly configSchema = {}
      patch = mustNotRun
      start(): never {
        return mustNotRun()
      }
    }
    expect(checkDriver(new Mine())).toEqual([])
  })

  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic

  it.each<[string, unknown, readonly string[]]>([
    ['nothing', undefined, ['']],
    ['null', null, ['']],
    ['a function', mustNotRun, ['']],
    ['an empty object', {}, ['/name', '/contract', '/patch', '/start', '/capabilities', '/configSchema']],
    ['an empty name', { ...driver, name: '' }, ['/name']],
    ['a name with a dot', { ...driver, name: 'my.driver' }, ['/name']],
    ['a name that is too long', { ...driver, name: 'a'.repeat(64) }, ['/name']],
    ['a fractional contract', { ...driver, contract: { min: 1, max: 1.5 } }, ['/contract']],
    ['a contract that is not a range', { ...driver, contract: 1 }, ['/contract']],
    ['no patch', { ...driver, patch: undefined }, ['/patch']],
    ['a start that is not a function', { ...driver, start: {} }, ['/start']],
    [
      'a feature that does not exist',
      { ...driver, capabilities: { ...capabilities, features: ['magic'] } },
      ['/capabilities/features/0'],
    ],
    ['a capability too many', { ...driver, capabilities: { ...capabilities, magic: true } }, ['/capabilities/magic']],
    ['no protocols', { ...driver, capabilities: { ...capabilities, protocols: [] } }, ['/capabilities/protocols']],
    ['a list as schema', { ...driver, configSchema: [] }, ['/configSchema']],
    ['a function in the schema', { ...driver, configSchema: { default: mustNotRun } }, ['/configSchema']],
    ['a schema that holds itself', { ...driver, configSchema: cyclic }, ['/configSchema']],
  ])('refuses %s', (_what, value, expected) => {
    expect(pointers(value)).toEqual(expected)
  })
})

describe('validateCapabilities', () => {
  it('accepts everything that can be declared, in any order', () => {
    expect(validateCapabilities({ ...capabilities, features: [...optionalFeatures].reverse() })).toEqual([])
  })

  it('refuses a list that holds something twice', () => {
    expect(
      validateCapabilities({ ...capabilities, features: ['retries', 'retries'], modes: ['explicit', 'explicit'] }),
    ).toEqual([
      { pointer: '/modes', message: 'must hold nothing twice' },
      { pointer: '/features', message: 'must hold nothing twice' },
    ])
  })
})

describe('capabilities of a driver that also supports a newer contract', () => {
  const newer = { ...capabilities, features: ['retries', 'teleportation'], gravity: 'low' }

  it('are accepted without what this host does not know', () => {
    expect(pointers({ ...driver, contract: { min: 1, max: 2 }, capabilities: newer })).toEqual([])
    expect(capabilitiesForHost({ contract: { min: 1, max: 2 }, capabilities: newer })).toEqual(capabilities)
  })

  it('are refused with what this host does not know where the driver supports no newer contract', () => {
    expect(pointers({ ...driver, capabilities: newer })).toEqual(['/capabilities/gravity', '/capabilities/features/1'])
  })

  it('are refused where a value of this contract is malformed', () => {
    expect(
      pointers({ ...driver, contract: { min: 1, max: 2 }, capabilities: { ...newer, drain: 'yes', protocols: ['x'] } }),
    ).toEqual(['/capabilities/protocols', '/capabilities/drain'])
  })
})

describe('names', () => {
  it.each([
    ['envoy', true],
    ['Envoy', true],
    ['a', true],
    ['a-1', true],
    ['1a', true],
    ['a'.repeat(63), true],
    ['-a', false],
    ['a-', false],
    ['a_b', false],
    ['a b', false],
    ['ä', false],
    ['a\n', false],
    [7, false],
    [undefined, false],
  ])('says of %p: %p', (name, expected) => {
    expect(isDriverName(name)).toBe(expected)
  })

  it('compare without regard to case', () => {
    expect(driverKey('Envoy')).toBe(driverKey('eNVOY'))
    expect(annotationPrefix('Envoy')).toBe('envoy.sidecar.openservicemesh.io/')
  })
})
