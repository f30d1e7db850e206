import type { InstanceProbeBinding } from '@osm-ts/core'

import { isObject, type JsonObject, textOf, withMembers } from '../json/json.js'
import { placedProbes, probeKey, withProbes, type PlacedProbe } from './probe-places.js'

/**
 * The pod with its probes as they were before {@link rewriteProbes}; probes that no binding accounts for stay. What a kubelet would ask is the same
 * as once was written, though a named port may have become its number.
 */
export function restoreProbes(pod: JsonObject, bindings: readonly InstanceProbeBinding[]): JsonObject {
  const restored = placedProbes(pod).flatMap((placed): [string, JsonObject][] => {
    const probe = restoredProbe(placed, bindings)
    return probe === undefined ? [] : [[probeKey(textOf(placed.container.name), placed.kind), probe]]
  })
  return withProbes(pod, new Map(restored))
}

function restoredProbe(
  { container, kind, probe }: PlacedProbe,
  bindings: readonly InstanceProbeBinding[],
): JsonObject | undefined {
  const { httpGet, grpc } = probe
  if (isObject(grpc)) {
    const target = bindings.find(({ port, target: { type } }) => type === 'grpc' && port === grpc.port)?.target
    return target && { ...probe, grpc: withMembers(grpc, { port: target.port }) }
  }
  if (!isObject(httpGet)) return undefined
  const target = bindings.find(
    (binding) =>
      binding.container === container.name &&
      binding.probe === kind &&
      binding.port === httpGet.port &&
      binding.path === httpGet.path,
  )?.target
  if (target === undefined) return undefined
  const { type, port, path = '/' } = target
  if (type === 'tcp') return withMembers(probe, { httpGet: undefined, tcpSocket: { port } })
  return { ...probe, httpGet: withMembers(httpGet, { path, port, ...(type === 'https' ? { scheme: 'HTTPS' } : {}) }) }
}
