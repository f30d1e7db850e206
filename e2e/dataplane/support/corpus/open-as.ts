import type { Socket } from 'node:net'

import type { ProxyPolicy } from '@osm-ts/driver-api/policy'

import { openSocket } from '@osm-ts/driver-testkit/testing'
import { issueLike } from '../authority.js'
import type { TestMesh } from '../mesh.js'

/** Opens connections to the sidecar of a server with the certificate of a client: what the sidecar of the client would refuse is let through. */
export async function connectorAs(mesh: TestMesh, client: string, server: string): Promise<() => Promise<Socket>> {
  const { uuid } = mesh.instance(server)
  const { proxy } = JSON.parse(await mesh.debug(`/debug/policy?uuid=${uuid}`)) as ProxyPolicy
  const [inbound] = proxy.inbound
  if (inbound?.listen === undefined) throw new Error(`${server} has no inbound listener`)
  const { address: host, port } = inbound.listen
  const [namespace = '', name = ''] = client.split('/')
  const serviceAccount = { namespace, name }
  const { certificate } = await issueLike(mesh.stateFolder, { kind: 'service', serviceAccount, services: [] })
  const [home = '', service = ''] = server.split('/')
  const tls = {
    serverName: `${service}.${home}.svc.cluster.local`,
    alpn: ['osm'],
    certificate: { chain: certificate.chain, privateKey: certificate.privateKey() },
  }
  return () => openSocket({ host, port }, tls)
}
