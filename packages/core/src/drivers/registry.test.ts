import { describe, expect, it } from '@jest/globals'
import {
  type ControllerContext,
  type Driver,
  type InjectorContext,
  isOsmError,
  type SidecarPatch,
} from '@osm-ts/driver-api'

import { DriverRegistry } from './registry.js'

const patch: SidecarPatch = {
  sidecar: {
    image: 'example/proxy:1',
    binary: 'proxy',
    args: ['--config', [{ ref: 'file', path: 'config.json' }]],
    env: [{ name: 'POD_IP', value: [{ ref: 'workload', field: 'address' }] }],
    ports: [{ name: 'proxy-admin', port: 15000, protocol: 'TCP' }],
    security: { runAsUser: 1500, readOnlyRootFilesystem: true },
  },
  files: [{ path: 'config.json', content: { text: '{}' } }],
  ready: { http: { port: 15000, path: '/ready', status: 200 }, periodMs: 100 },
  quit: { kind: 'signal', signal: 'SIGTERM' },
  annotations: { 'test.sidecar.openservicemesh.io/x': 'y' },
  initContainers: [],
  volumes: [],
}

const running = { probes: {}, stopped: new Promise<void>(() => undefined) }

const driver = (overrides: Partial<Driver> = {}): Driver => ({
  name: 'test',
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
  configSchema: {},
  patch: () => Promise.resolve(patch),
  start: () => Promise.resolve(running),
  ...overrides,
})

// Neither is read by the drivers of this file.
const injector = {} as InjectorContext
const controller = {} as ControllerContext

const codeOf = (call: () => unknown): string => {
  try {
    call()
  } catch (error) {
    if (isOsmError(error)) return error.code
    throw error
  }
  return 'nothing thrown'
}

describe('DriverRegistry', () => {
  it.each([
    ['nil', null, 'OSM_DRIVER_NIL'],
    ['undefined', undefined, 'OSM_DRIVER_NIL'],
    ['a name that is not a DNS label', driver({ name: 'my driver' }), 'OSM_DRIVER_INVALID'],
    ['a missing method', { ...driver(), start: undefined } as unknown as Driver, 'OSM_DRIVER_INVALID'],
    ['a contract that is not a range', driver({ contract: 1 as never }), 'OSM_DRIVER_INVALID'],
    ['a newer contract only', driver({ contract: { min: 98, max: 99 } }), 'OSM_DRIVER_CONTRACT'],
  ])('refuses %s', (_what, candidate, code) => {
    expect(codeOf(() => new DriverRegistry().register(candidate))).toBe(code)
  })

  it('compares names without regard to case, and refuses a second driver of a name', () => {
    const registry = new DriverRegistry()
    registry.register(driver({ name: 'Envoy' }))
    expect(registry.get('ENVOY').name).toBe('Envoy')
    expect(codeOf(() => registry.register(driver({ name: 'envoy' })))).toBe('OSM_DRIVER_DUPLICATE')
  })

  it('names what is registered when a class is unknown', () => {
    const registry = new DriverRegistry()
    expect(() => registry.install('pipy')).toThrow(/registered: none/)
    registry.register(driver())
    expect(() => registry.install('pipy')).toThrow(/"pipy".*registered: test/)
  })

  it('tells why a class has no driver, until it has one', () => {
    const registry = new DriverRegistry()
    const refusal = {
      name: 'test',
      origin: 'package',
      code: 'OSM_DRIVER_TIMEOUT',
      message: 'driver test did not answer',
      final: false,
      failurePolicy: 'Ignore',
    } as const
    registry.refuse(refusal)
    expect(() => registry.get('Test')).toThrow(/is refused: driver test did not answer \[OSM_DRIVER_TIMEOUT\]/)
    expect([registry.refusal('TEST'), registry.refusals()]).toEqual([refusal, [refusal]])
    const facts = { origin: 'package', version: '1.0.0', failurePolicy: 'Ignore' } as const
    registry.register(driver(), facts)
    expect([registry.refusal('test'), registry.refusals(), registry.facts('TEST')]).toEqual([undefined, [], facts])

    // Asked for a second time under a name that is taken: the first serves, and the second is not forgotten.
    registry.refuse(refusal)
    expect([registry.get('test').name, registry.refusal('test'), registry.refusals()]).toEqual([
      'test',
      undefined,
      [refusal],
    ])
  })

  it('refuses to patch or start before a default is installed', async () => {
    const registry = new DriverRegistry()
    registry.register(driver())
    await expect(registry.patch(injector)).rejects.toMatchObject({ code: 'OSM_DRIVER_NOT_INSTALLED' })
    await expect(registry.start(controller)).rejects.toMatchObject({ code: 'OSM_DRIVER_NOT_INSTALLED' })
    registry.install('test')
    await expect(registry.patch(injector)).resolves.toBe(patch)
    await expect(registry.start(controller)).resolves.toBe(running)
  })

  it('refuses a start without a promise of the end', async () => {
    const registry = new DriverRegistry()
    registry.register(driver({ start: () => Promise.resolve({} as never) }))
    registry.install('test')
    await expect(registry.start(controller)).rejects.toMatchObject({
      code: 'OSM_DRIVER_START',
      message: 'driver test must return { probes, stopped } from start',
    })
  })

  it('gives every failure of a driver a code and its name', async () => {
    const registry = new DriverRegistry()
    registry.register(
      driver({
        patch: () => Promise.reject(new Error('no image')),
        start: () => Promise.reject(new Error('port in use')),
      }),
    )
    registry.install('test')
    await expect(registry.patch(injector)).rejects.toMatchObject({
      code: 'OSM_DRIVER_PATCH',
      message: expect.stringContaining('test'),
    })
    await expect(registry.start(controller)).rejects.toMatchObject({
      code: 'OSM_DRIVER_START',
      message: expect.stringContaining('port in use'),
    })
  })

  it.each<[string, SidecarPatch, RegExp]>([
    [
      'root',
      { ...patch, sidecar: { ...patch.sidecar, security: { runAsUser: 0, readOnlyRootFilesystem: true } } },
      /must not run as root/,
    ],
    ['a foreign annotation', { ...patch, annotations: { 'kubernetes.io/x': '' } }, /outside the driver's prefix/],
    ['a path out of the folder', { ...patch, files: [{ path: '../x', content: { text: '' } }] }, /file name/],
    ['a file that is not given', { ...patch, files: [] }, /"config.json" is referred to but not given/],
    [
      'a foreign init container',
      { ...patch, initContainers: [{ name: 'osm-init', image: 'i', command: [], env: [] }] },
      /must be a DNS label that starts with test-/,
    ],
    [
      'a mount out of bounds',
      { ...patch, volumes: [{ name: 'test-x', mountPath: '/a/../etc' }] },
      /not a plain absolute path/,
    ],
    [
      'a malformed variable',
      { ...patch, sidecar: { ...patch.sidecar, env: [{ name: 'A=B', value: '' }] } },
      /environment name/,
    ],
  ])('refuses a patch with %s', async (_what, bad, reason) => {
    const registry = new DriverRegistry()
    registry.register(driver({ patch: () => Promise.resolve(bad) }))
    registry.install('test')
    await expect(registry.patch(injector)).rejects.toMatchObject({
      code: 'OSM_DRIVER_PATCH_REFUSED',
      message: expect.stringMatching(reason),
    })
  })

  it('refuses a configuration that does not fit the schema of the driver, and names the field', async () => {
    const registry = new DriverRegistry()
    const configSchema = {
      type: 'object',
      additionalProperties: false,
      properties: { threads: { type: 'integer', minimum: 1 } },
    }
    registry.register(driver({ configSchema }))
    registry.install('test')
    await expect(registry.patch({ ...injector, driverConfig: { threads: 2 } })).resolves.toBe(patch)
    await expect(registry.patch({ ...injector, driverConfig: { threads: 0 } })).rejects.toMatchObject({
      code: 'OSM_DRIVER_CONFIG',
      message: expect.stringContaining('config.threads must be >= 1'),
    })
    await expect(registry.start({ ...controller, driverConfig: { thraeds: 2 } })).rejects.toMatchObject({
      code: 'OSM_DRIVER_CONFIG',
      message: expect.stringContaining('thraeds'),
    })
  })
})
