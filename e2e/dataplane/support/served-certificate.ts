import { connect } from 'node:tls'
import type { X509Certificate } from 'node:crypto'

import type { ProxyPolicy } from '@osm-ts/driver-api/policy'

import { issueLike } from './authority.js'
import type { TestMesh } from './mesh.js'

type Listen = NonNullable<ProxyPolicy['proxy']['inbound'][number]['listen']>

/** Where the sidecar of a workload takes connections of others, by the policy that it has. */
export async function inboundOf(mesh: TestMesh, workload: string): Promise<Listen> {
  const { proxy } = JSON.parse(await mesh.debug(`/debug/policy?uuid=${mesh.instance(workload).uuid}`)) as ProxyPolicy
  const listen = proxy.inbound.find(({ id }) => id.startsWith(`${workload}|`))?.listen
  if (listen === undefined) throw new Error(`${workload} has no inbound listener`)
  return listen
}

/** The certificate that the sidecar of a workload of the shop shows to the client, who verifies it. */
export async function servedCertificate(mesh: TestMesh, workload: `shop/${string}`): Promise<X509Certificate> {
  const { address: host, port } = await inboundOf(mesh, workload)
  const serviceAccount = { namespace: 'shop', name: 'client' }
  const subject = { kind: 'service', serviceAccount, services: [] } as const
  const { certificate, workloadRoot } = await issueLike(mesh.stateFolder, subject)
  const caller = { ca: workloadRoot, cert: certificate.chain, key: certificate.privateKey() }
  const servername = `${workload.slice('shop/'.length)}.shop.svc.cluster.local`
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, servername, ...caller }, () => {
      const served = socket.getPeerX509Certificate()
      socket.destroy()
      if (served === undefined) reject(new Error(`${workload} shows no certificate`))
      else resolve(served)
    })
    socket.on('error', reject)
  })
}
