import type { Target } from '../../actor/protocol.js'
import type { LocalMode } from '../format.js'
import { addressTarget, interceptedRoutes, type Routes } from '../make-call.js'
import { type LocalInstance, localInstance } from './local-instance.js'

/** Routes of a workload: through its sidecar by name in explicit mode; as if there was none in transparent mode. */
export function workloadRoutes(stateFolder: string, workload: string, mode: LocalMode): Routes {
  if (mode === 'transparent') return interceptedRoutes
  const { allocations } = localInstance(stateFolder, workload)
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
      const proxy = allocations?.outboundHttp
      if (proxy === undefined) throw new Error(`the sidecar of ${workload} has no listener for outbound HTTP`)
      return { host: proxy.address, port: proxy.port, absolute: true }
    },
    tcp,
  }
}

/** Where the sidecar of an instance accepts connections for a port. */
export function inboundTarget({ addresses, allocations }: LocalInstance, port: string, mode: LocalMode): Target {
  if (mode === 'transparent') return { host: addresses[0] ?? '', port: Number(port) }
  const { ingress = {}, inbound = {} } = allocations ?? {}
  const listeners = [...Object.entries(ingress), ...Object.entries(inbound)]
  const [, address] = listeners.find(([key]) => key.endsWith(`|${port}`)) ?? []
  if (address === undefined) throw new Error(`no sidecar listens for port ${port}`)
  return { host: address.address, port: address.port }
}
