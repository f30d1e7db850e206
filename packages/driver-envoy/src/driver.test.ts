import { createServer } from 'node:net'

import { describe, expect, it } from '@jest/globals'
import { checkDriver, validateHealthProbes } from '@osm-ts/driver-api'

import { EnvoyHost } from '../test/xds/envoy-host.js'
import { createEnvoyDriver } from './driver.js'

describe('the Envoy driver', () => {
  it('is one by the contract', () => {
    expect(checkDriver(createEnvoyDriver())).toEqual([])
  })

  it('starts with health probes, and stops with the signal', async () => {
    const host = new EnvoyHost()
    const { probes } = await createEnvoyDriver().start(host.context())
    expect(validateHealthProbes(probes)).toEqual([])
    const { port = 0, path = '' } = probes.readiness ?? {}
    expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(200)
    for (const page of ['/debug/proxy', '/debug/xds']) expect(JSON.parse((await host.page(page)).body)).toEqual([])
    host.stop()
    await expect(fetch(`http://127.0.0.1:${port}${path}`)).rejects.toThrow()
    expect(host.cancelled).toEqual([])
  })

  it('says what keeps it from starting, and leaves nothing behind', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const host = new EnvoyHost()
    const starting = createEnvoyDriver().start(host.context({ proxyServerPort: port }))
    await expect(starting).rejects.toMatchObject({
      code: 'OSM_DRIVER_START',
      message: expect.stringContaining(`127.0.0.1:${port}`) as unknown,
    })
    await new Promise((resolve) => taken.close(resolve))
    host.stop()
    expect(host.cancelled).toEqual([])
  })
})
