import { createServer } from 'node:net'

import { describe, expect, it } from '@jest/globals'
import { checkDriver, sidecarPatchSchema } from '@osm-ts/driver-api'
import { schemaIssues } from '@osm-ts/driver-api/toolkit'
import { FakeHost, injectorContext, resolveValue } from '@osm-ts/driver-testkit'

import { createHaproxyDriver } from './driver.js'

const explicit = {
  interceptionMode: 'none',
  listen: { outboundHttp: { address: '127.0.0.1', port: 15201 }, admin: { address: '127.0.0.1', port: 15200 } },
} as const

describe('the driver', () => {
  const driver = createHaproxyDriver()

  it('is one', () => {
    expect(checkDriver(driver)).toEqual([])
  })

  it('returns what the contract describes', async () => {
    const patch = await driver.patch(injectorContext(explicit))
    expect(schemaIssues(sidecarPatchSchema, patch)).toEqual([])
    expect(patch.sidecar.env.slice(0, 6).map(({ name, value }) => `${name}=${resolveValue(value)}`)).toEqual([
      'OSM_HAPROXY_SERVER_ADDRESS=osm-controller.osm-system.svc.cluster.local',
      'OSM_HAPROXY_SERVER_PORT=15128',
      'OSM_HAPROXY_SERVER_NAME=ads.osm-system.cluster.local',
      'OSM_HAPROXY_CERTIFICATE=/etc/sidecar/sidecar.crt',
      'OSM_HAPROXY_KEY=/etc/sidecar/sidecar.key',
      'OSM_HAPROXY_ROOTS=/etc/sidecar/roots.crt',
    ])
    expect(patch.ready.http).toEqual({ port: 15200, path: '/ready', status: 200 })
    expect(patch.interception).toBeUndefined()
  })

  it('has IPv4 redirected to it and IPv6 refused, and is asked where a kubelet gets to', async () => {
    const context = injectorContext()
    const { inbound, outbound, metrics } = context.listen
    const patch = await driver.patch(context)
    expect(schemaIssues(sidecarPatchSchema, patch)).toEqual([])
    expect(patch.interception).toEqual({
      inboundPort: inbound?.port,
      outboundPort: outbound?.port,
      proxyUid: 1500,
      excludedInboundPorts: [metrics?.port, 15901, 15902, 15903, 15904],
      ipv6: false,
    })
    expect(patch.ready.http).toEqual({ port: metrics?.port, path: '/ready', status: 200 })
  })

  it.each([
    ['another system', { ...explicit, podOS: 'windows' }, 'linux'],
    ['redirection to nowhere', { listen: explicit.listen }, 'redirected'],
    ['no administration address', { ...explicit, listen: {} }, 'administration'],
  ] as const)('refuses %s', async (_what, changes, words) => {
    await expect(driver.patch(injectorContext(changes))).rejects.toMatchObject({
      code: 'OSM_DRIVER_PATCH',
      message: expect.stringContaining(words) as unknown,
    })
  })

  it('listens, says that it is well, and stops', async () => {
    const host = new FakeHost('haproxy')
    const { probes, stopped } = await driver.start(host.context())
    const { liveness } = probes
    const health = `http://127.0.0.1:${liveness!.port}${liveness!.path}`
    expect((await fetch(health)).status).toBe(200)
    expect(await host.page('/debug/haproxy')).toMatchObject({ status: 200, body: '[]' })
    host.stop()
    await stopped
    await expect(fetch(health)).rejects.toThrow()
    expect(host.cancelled).toEqual([])
  })

  it('says what keeps it from starting', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const host = new FakeHost('haproxy')
    await expect(driver.start(host.context({ proxyServerPort: port }))).rejects.toMatchObject({
      code: 'OSM_DRIVER_START',
      message: expect.stringContaining(`127.0.0.1:${port}`) as unknown,
    })
    await new Promise((resolve) => taken.close(resolve))
    const credential = { chain: 'nonsense', privateKey: 'nonsense', expiry: '', serialNumber: '1' }
    host.serverTrust.set({ credential, clientRoots: host.controlPlane.bundle as never })
    await expect(driver.start(host.context())).rejects.toMatchObject({ code: 'OSM_DRIVER_START' })
    host.stop()
  })
})
