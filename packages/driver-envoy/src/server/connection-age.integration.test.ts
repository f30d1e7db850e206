import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { EnvoyHost, literalTranslator } from '../../test/xds/envoy-host.js'
import { resource } from '../../test/xds/resources.js'
import { XdsClient } from '../../test/xds/xds-client.js'
import { createEnvoyDriver } from '../driver.js'
import { ResourceDiffer } from '../resources/resource-differ.js'
import { attributeRejection } from '../translate/attribute-rejection.js'
import { XdsServer } from './xds-server.js'
import { typeUrls } from './xds-types.js'

const uuid = '6e8a0b0e-0000-4000-8000-000000000001'
const differ = new ResourceDiffer()
/** By how much grpc-js makes ages differ. */
const JITTER = 0.1
/** Connections that end while changes are under way. */
const CONNECTIONS = 3

describe('a connection that has reached its age', () => {
  let host: EnvoyHost
  let server: XdsServer | undefined
  let client: XdsClient | undefined

  beforeEach(() => {
    host = new EnvoyHost()
  })

  afterEach(async () => {
    client?.close()
    host.stop()
    await server?.close()
    server = undefined
  })

  async function connectedClient(times: { readonly ageMs: number; readonly graceMs: number }): Promise<XdsClient> {
    server = new XdsServer(host.context(), {
      translator: literalTranslator,
      diff: differ.diff.bind(differ),
      trace: attributeRejection,
      times: { ...times, keepaliveMs: 30_000, drainMs: 0 },
    })
    await server.start()
    client = clientOf(server.port)
    return client
  }

  function clientOf(port: number): XdsClient {
    return new XdsClient({ port, roots: host.controlPlane.certificate, credential: host.admit(uuid).credential })
  }

  it('ends, so that the proxy returns, and what changed meanwhile is all that it is sent then', async () => {
    const proxy = await connectedClient({ ageMs: 200, graceMs: 100 })
    host.publish(uuid, { cluster: { a: '1', b: '1' } })
    const first = proxy.delta()
    first.send({ typeUrl: typeUrls.cluster })
    const { nonce, resources } = await first.next()
    first.send({ typeUrl: typeUrls.cluster, responseNonce: nonce })
    expect(resources.map(({ name }) => name)).toEqual(['a', 'b'])

    // Neither refused nor told that it is done: a client takes that for a reason to try again.
    await expect(first.ended).resolves.toMatchObject({ code: status.UNAVAILABLE })
    host.publish(uuid, { cluster: { a: '2', b: '1' } })

    const second = proxy.delta()
    const held = { a: resource('a', '1').version, b: resource('b', '1').version }
    second.send({ typeUrl: typeUrls.cluster, initialResourceVersions: held })
    const later = await second.next()
    expect(later.resources.map(({ name }) => name)).toEqual(['a'])
    expect(later.removedResources).toEqual([])
    expect(host.metrics.get('osm_proxy_reconnect_count')).toBe(1)
  })

  it('loses no change, however many there are while connections end', async () => {
    const proxy = await connectedClient({ ageMs: 100, graceMs: 50 })
    const held = new Map([['b', resource('b', '1').version]])
    const sent = new Set<string>()
    let content = 0
    const publish = (): void => {
      content += 1
      host.publish(uuid, { cluster: { a: String(content), b: '1' } })
    }
    const isNewest = (): boolean => held.get('a') === resource('a', String(content)).version
    publish()
    // Connections that end before their first response, on a machine that is busy with other things, prove nothing.
    for (let ended = 0; ended < CONNECTIONS || !isNewest();) {
      const stream = proxy.delta()
      stream.send({ typeUrl: typeUrls.cluster, initialResourceVersions: Object.fromEntries(held) })
      const before = content
      for (;;) {
        const response = await stream.next().catch(() => undefined)
        if (response === undefined) break
        for (const { name, version } of response.resources) {
          sent.add(name)
          held.set(name, version)
        }
        stream.send({ typeUrl: typeUrls.cluster, responseNonce: response.nonce })
        if (ended < CONNECTIONS) publish()
      }
      if (content > before) ended += 1
    }
    expect([...sent]).toEqual(['a'])
  })

  it('is as old as the configuration of the driver says, and continues for the grace', async () => {
    const driverConfig = { connectionAgeSeconds: 1, connectionGraceSeconds: 1 }
    await createEnvoyDriver().start(host.context({ driverConfig }))
    const port = host.logs.find(({ message }) => message === 'xDS server listens')?.fields.port
    const start = performance.now()
    client = clientOf(Number(port))
    const stream = client.delta()
    stream.send({ typeUrl: typeUrls.cluster })
    await expect(stream.ended).resolves.toMatchObject({ code: status.UNAVAILABLE })
    // The other bound is that of this test: without the configuration it would be half an hour.
    const { connectionAgeSeconds, connectionGraceSeconds } = driverConfig
    const earliest = 1000 * (connectionAgeSeconds * (1 - JITTER) + connectionGraceSeconds)
    expect(performance.now() - start).toBeGreaterThan(earliest - 10)
  })
})
