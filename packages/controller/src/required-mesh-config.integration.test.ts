import { afterEach, describe, expect, it } from '@jest/globals'
import { createLogger, MemoryCaStore, Metrics, systemClock, TresorProvider } from '@osm-ts/core'
import { until } from '@osm-ts/driver-api/toolkit'

import { base, TextSource } from '../test/controller-fixture.js'
import { startedDriver } from '../test/started-driver.js'
import type { ControllerOptions } from './options.js'
import { startController } from './start-controller.js'

describe('a controller that must have a MeshConfig', () => {
  const ends: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
  })

  const get = async (
    port: number | undefined,
    path: string,
  ): Promise<{ readonly status: number; readonly body: string }> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: response.status, body: await response.text() }
  }

  const meshConfig = (spec: string): string =>
    `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: osm-system }\nspec: ${spec}\n`

  /** A controller as a cluster has one: it waits for its MeshConfig and obeys it. */
  async function startRequired(more: Partial<ControllerOptions> = {}) {
    const abort = new AbortController()
    const source = new TextSource()
    const provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const lines: string[] = []
    const starting = startController({
      ...base,
      sources: [source],
      meshConfig: { anyNamespace: false, required: true },
      debugServer: 'configured',
      certificateProvider: provider,
      drivers: [startedDriver('fake').driver],
      metrics: new Metrics(),
      logger: createLogger('test', 'info', { write: (line) => lines.push(line) }),
      signal: abort.signal,
      ...more,
    })
    ends.push(async () => {
      abort.abort()
      await starting.then(({ stopped }) => stopped).catch(() => undefined)
      provider.close()
    })
    return { source, starting, abort, lines }
  }
  it('starts no driver before there is a MeshConfig, but what MeshConfig may need', async () => {
    let attached = false
    const { source, starting, lines } = await startRequired({
      attachments: [
        async ({ signal }) => {
          attached = true
          return {
            ready: async () => true,
            stopped: new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
          }
        },
      ],
    })
    await until(() => lines.some((line) => line.includes('there is no MeshConfig yet')))
    expect(attached).toBe(true)
    source.put(meshConfig('{ sidecar: { sidecarClass: fake } }'))
    await expect(starting).resolves.toMatchObject({ proxyClasses: ['fake'], debugPort: undefined })
  })

  it('ends without a word when it is asked to while it waits', async () => {
    const { starting, abort, lines } = await startRequired()
    await until(() => lines.some((line) => line.includes('there is no MeshConfig yet')))
    abort.abort()
    await expect(starting).rejects.toBe(abort.signal.reason)
  })

  it('is ready when all that runs beside it is', async () => {
    let isReady = false
    const { source, starting } = await startRequired({
      attachments: [
        async ({ signal }) => ({
          ready: async () => isReady,
          stopped: new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
        }),
      ],
    })
    source.put(meshConfig('{ sidecar: { sidecarClass: fake } }'))
    const { healthPort } = await starting
    await expect(get(healthPort, '/health/ready')).resolves.toMatchObject({ status: 503 })
    isReady = true
    await expect(get(healthPort, '/health/ready')).resolves.toMatchObject({ status: 200 })
  })

  it('ends when something beside it fails', async () => {
    const { source, starting } = await startRequired({
      attachments: [async () => ({ ready: async () => true, stopped: Promise.reject(new Error('the duty failed')) })],
    })
    source.put(meshConfig('{ sidecar: { sidecarClass: fake } }'))
    const { stopped } = await starting
    await expect(stopped).rejects.toThrow('the duty failed')
  })

  it('switches its debug server as MeshConfig says, and logs what waits for a restart', async () => {
    const { source, starting, lines } = await startRequired()
    source.put(meshConfig('{ sidecar: { sidecarClass: fake } }'))
    const controller = await starting
    for (const on of [true, false, true]) {
      source.put(meshConfig(`{ sidecar: { sidecarClass: fake }, observability: { enableDebugServer: ${String(on)} } }`))
      await until(() => (controller.debugPort !== undefined) === on)
    }
    await expect(get(controller.debugPort, '/debug/config')).resolves.toMatchObject({ status: 200 })
    source.put(meshConfig('{ sidecar: { sidecarClass: other }, observability: { enableDebugServer: true } }'))
    const told = lines.filter((line) => line.includes('OSM_CONFIG_RESTART'))
    expect(told).toHaveLength(1)
    source.put(
      meshConfig('{ sidecar: { sidecarClass: other, logLevel: debug }, observability: { enableDebugServer: true } }'),
    )
    expect(lines.filter((line) => line.includes('OSM_CONFIG_RESTART'))).toHaveLength(1)
  })
})
