import type { MeshMode } from '@osm-ts/standalone'
import { addressTarget, interceptedRoutes, type Routes } from '@osm-ts/driver-testkit'

import type { Target } from '../../../../packages/driver-testkit/src/actor/protocol.js'
import type { TestMesh } from '../mesh.js'
import { instanceSpec } from './instance-spec.js'

/** Routes of a workload: through its sidecar by name in explicit mode; as if there was none in transparent mode. */
export async function workloadRoutes(mesh: TestMesh, workload: string, mode: MeshMode): Promise<Routes> {
  if (mode === 'transparent') return interceptedRoutes
  const { allocations } = await instanceSpec(mesh, workload)
  const tcp = (address: string): Target => {
    const { host, port } = addressTarget(address, 'http')
    const [service = '', namespace = workload.split('/')[0] ?? ''] = host.split('.')
    if (/^[0-9.]+$/.test(host) || host === 'localhost') return { host, port }
    const listener = allocations?.outboundTcp?.[`${namespace}/${service}|${port}`]
    if (listener === undefined) throw new Error(`the sidecar of ${workload} has no listener for ${address}`)
    return { host: listener.address, port: listener.port }
  }
  return {
    // What an application encrypts goes through its sidecar as it is.
    http: (authority, scheme) => {
      if (scheme === 'https') return tcp(authority)
      const proxy = new URL(mesh.proxyOf(workload))
      return { host: proxy.hostname, port: Number(proxy.port), absolute: true }
    },
    tcp,
  }
}

/** Where the sidecar of a workload accepts connections for a port. */
export async function inboundTarget(mesh: TestMesh, workload: string, port: string, mode: MeshMode): Promise<Target> {
  const { addresses, allocations } = await instanceSpec(mesh, workload)
  if (mode === 'transparent') return { host: addresses[0] ?? '', port: Number(port) }
  const { ingress = {}, inbound = {} } = allocations ?? {}
  const listeners = [...Object.entries(ingress), ...Object.entries(inbound)]
  const [, address] = listeners.find(([key]) => key.endsWith(`|${port}`)) ?? []
  if (address === undefined) throw new Error(`no sidecar of ${workload} listens for port ${port}`)
  return { host: address.address, port: address.port }
}
