import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { EnvoyHost, literalTranslator } from '../../test/xds/envoy-host.js'
import { resource } from '../../test/xds/resources.js'
import { XdsClient } from '../../test/xds/xds-client.js'
import { ResourceDiffer } from '../resources/resource-differ.js'
import { blameParts } from '../translate/blame.js'
import { XdsServer } from './xds-server.js'
import { typeUrls } from './xds-types.js'

const uuid = '6e8a0b0e-0000-4000-8000-000000000001'
const differ = new ResourceDiffer()

describe('a connection that has reached its age', () => {
  let host: EnvoyHost
  let server: XdsServer
  let client: XdsClient

  beforeEach(async () => {
    host = new EnvoyHost()
    server = new XdsServer(host.context(), {
      translator: literalTranslator,
      diff: differ.diff.bind(differ),
      trace: blameParts,
      ages: { maxConnectionAgeMs: 200, maxConnectionAgeGraceMs: 100 },
    })
    await server.start()
    client = new XdsClient({
      port: server.port,
      roots: host.controlPlane.certificate,
      credential: host.admit(uuid).credential,
    })
  })

  afterEach(async () => {
    client.close()
    host.stop()
    await server.close()
  })

  it('ends, so that the proxy comes back, and what changed meanwhile is all that it is sent then', async () => {
    host.publish(uuid, { cluster: { a: '1', b: '1' } })
    const first = client.delta()
    first.send({ typeUrl: typeUrls.cluster })
    const { nonce, resources } = await first.next()
    first.send({ typeUrl: typeUrls.cluster, responseNonce: nonce })
    expect(resources.map(({ name }) => name)).toEqual(['a', 'b'])

    // Neither refused nor told that it is done: a client takes that for a reason to try again.
    await expect(first.ended).resolves.toMatchObject({ code: status.UNAVAILABLE })
    host.publish(uuid, { cluster: { a: '2', b: '1' } })

    const second = client.delta()
    const held = { a: resource('a', '1').version, b: resource('b', '1').version }
    second.send({ typeUrl: typeUrls.cluster, initialResourceVersions: held })
    const later = await second.next()
    expect(later.resources.map(({ name }) => name)).toEqual(['a'])
    expect(later.removedResources).toEqual([])
    expect(host.metrics.get('osm_proxy_reconnect_count')).toBe(1)
  })
})
