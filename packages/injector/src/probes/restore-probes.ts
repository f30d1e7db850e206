import type { InstanceProbeBinding } from '@osm-ts/core'

import type { Pod, Probe } from '../pod/pod.js'
import { placedProbes, probeKey, withProbes, type PlacedProbe } from './probe-places.js'

/**
 * The pod with its probes as they were before {@link rewriteProbes}; probes that no binding accounts for stay. What a kubelet would ask is the same
 * as once was written, though a named port may have become its number.
 */
export function restoreProbes(pod: Pod, bindings: readonly InstanceProbeBinding[]): Pod {
  const restored = placedProbes(pod).flatMap((placed): [string, Probe][] => {
    const probe = restoredProbe(placed, bindings)
    return probe === undefined ? [] : [[probeKey(placed.container.name, placed.kind), probe]]
  })
  return withProbes(pod, new Map(restored))
}

function restoredProbe(
  { container, kind, probe }: PlacedProbe,
  bindings: readonly InstanceProbeBinding[],
): Probe | undefined {
  const { httpGet, grpc, ...others } = probe
  if (grpc !== undefined) {
    const target = bindings.find(({ port, target: { type } }) => type === 'grpc' && port === grpc.port)?.target
    return target && { ...probe, grpc: { ...grpc, port: target.port } }
  }
  if (httpGet === undefined) return undefined
  const target = bindings.find(
    (binding) =>
      binding.container === container.name &&
      binding.probe === kind &&
      binding.port === httpGet.port &&
      binding.path === httpGet.path,
  )?.target
  if (target === undefined) return undefined
  const { type, port, path = '/' } = target
  if (type === 'tcp') return { ...others, tcpSocket: { port } }
  return { ...probe, httpGet: { ...httpGet, path, port, ...(type === 'https' && { scheme: 'HTTPS' }) } }
}
