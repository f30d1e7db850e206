import type { Socket } from 'node:net'

import { openSocket } from '@osm-ts/driver-testkit/testing'
import { issueLike } from '../authority.js'
import type { TestMesh } from '../mesh.js'
import { inboundOf } from '../served-certificate.js'

/** Opens connections to the sidecar of a server with the certificate of a client: what the sidecar of the client would refuse is let through. */
export async function connectorAs(mesh: TestMesh, client: string, server: string): Promise<() => Promise<Socket>> {
  const { address: host, port } = await inboundOf(mesh, server)
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
