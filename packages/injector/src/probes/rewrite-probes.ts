import { GRPC_HEALTH_PATH, isSidecarPort, probePath, sidecarPorts, type InstanceProbeBinding } from '@osm-ts/core'
import { OsmError, type OriginalHealthProbe } from '@osm-ts/driver-api'

import type { InjectorErrorCode } from '../error-codes.js'
import type { Pod, Probe } from '../pod/pod.js'
import { placedProbes, probeKey, withProbes, type PlacedProbe } from './probe-places.js'
import { probeQuestion } from './probe-question.js'

const PORTS = [sidecarPorts.liveness, sidecarPorts.readiness, sidecarPorts.startup] as const
const DEFAULT_TIMEOUT_SECONDS = 1

/** A pod whose probes go to its sidecar. */
export interface RewrittenProbes {
  readonly pod: Pod
  /** What the sidecar has to answer. */
  readonly bindings: readonly InstanceProbeBinding[]
  /** The same as drivers see it: probes as they were. */
  readonly originals: readonly OriginalHealthProbe[]
  /** What was done, and what not and why, one sentence each. */
  readonly notes: readonly string[]
  /** What the user should know: probes that no one can answer. */
  readonly warnings: readonly string[]
}

/**
 * Sends the probes of a pod to its sidecar, which asks the workload in place of the kubelet: a kubelet has no certificate, so that the
 * workload's own ports are closed to it.
 *
 * Every probe becomes an HTTP request to the port of its kind, told apart by path, but for gRPC, which keeps its protocol. Whatever else a probe
 * says stays as it is. Probes that don't come to the sidecar anyway stay too: those of excluded ports, of other hosts, and commands.
 *
 * @throws OsmError `OSM_INJECT_POD` if there are more gRPC ports than the sidecar has ports to distinguish them
 */
export function rewriteProbes(pod: Pod, excludedPorts: readonly number[]): RewrittenProbes {
  const grpcPorts = new Map<number, number>()
  const bindings = new Map<string, InstanceProbeBinding>()
  const probes = new Map<string, Probe>()
  const originals: OriginalHealthProbe[] = []
  const notes: string[] = []
  const warnings: string[] = []
  for (const placed of placedProbes(pod)) {
    const container = placed.container.name
    const label = `${placed.kind} probe of container ${container}`
    const question = probeQuestion(placed.probe, placed.container)
    const stays = question.kind === 'stays' ? question.reason : reasonToStay(question.target.port, excludedPorts)
    if (question.kind === 'stays' || stays !== undefined) {
      notes.push(`${label} stays: ${stays ?? ''}`)
      if (question.kind === 'asks' && isSidecarPort(question.target.port))
        warnings.push(
          `${label}: port ${question.target.port} is one of the sidecar, which answers no probe; name a port of the container`,
        )
      continue
    }
    const binding = bind(placed, question.target, { grpcPorts, bindings })
    probes.set(probeKey(container, placed.kind), rewritten(placed.probe, binding))
    originals.push(original(placed, binding))
    notes.push(
      `${label} goes to port ${binding.port} of the sidecar, which asks port ${binding.target.port} by ${binding.target.type}`,
    )
  }
  return { pod: withProbes(pod, probes), bindings: [...bindings.values()], originals, notes, warnings }
}

function reasonToStay(port: number, excludedPorts: readonly number[]): string | undefined {
  if (excludedPorts.includes(port)) return `port ${port} is excluded from redirection, so that it reaches the workload`
  return isSidecarPort(port) ? `port ${port} is one of the sidecar` : undefined
}

interface Taken {
  /** Ports of the sidecar by gRPC ports of the workload. */
  readonly grpcPorts: Map<number, number>
  /** By port and path. */
  readonly bindings: Map<string, InstanceProbeBinding>
}

function bind(
  { container, kind, probe }: PlacedProbe,
  target: InstanceProbeBinding['target'],
  { grpcPorts, bindings }: Taken,
): InstanceProbeBinding {
  const { name } = container
  const listens = target.type === 'grpc' ? grpcPort(target.port, sidecarPorts[kind], grpcPorts) : sidecarPorts[kind]
  const plain = probePath(kind)
  const own = bindings.has(`${listens} ${plain}`) ? `${plain}/${name}` : plain
  const path = target.type === 'grpc' ? GRPC_HEALTH_PATH : own
  const key = `${listens} ${path}`
  const timeoutMs = timeoutOf(probe)
  const present = bindings.get(key)
  // gRPC probes of one port of the workload share what answers them; the longest timeout applies.
  const binding: InstanceProbeBinding =
    present === undefined
      ? { container: name, probe: kind, port: listens, path, target, timeoutMs }
      : { ...present, timeoutMs: Math.max(present.timeoutMs, timeoutMs) }
  bindings.set(key, binding)
  return binding
}

/** The port of the probe's kind if it is free, another one if not. */
function grpcPort(workloadPort: number, preferred: number, grpcPorts: Map<number, number>): number {
  const known = grpcPorts.get(workloadPort)
  if (known !== undefined) return known
  const taken = new Set(grpcPorts.values())
  const free = [preferred, ...PORTS].find((port) => !taken.has(port))
  if (free === undefined) {
    throw new OsmError<InjectorErrorCode>(
      'OSM_INJECT_POD',
      `the pod has gRPC probes of more than ${PORTS.length} ports, which the sidecar can't tell apart; ` +
        `use httpGet or tcpSocket for one of them, or exclude its port by annotation`,
    )
  }
  grpcPorts.set(workloadPort, free)
  return free
}

function rewritten({ tcpSocket, ...probe }: Probe, { port, path, target }: InstanceProbeBinding): Probe {
  const own = tcpSocket === undefined ? probe : { ...probe, tcpSocket }
  switch (target.type) {
    case 'grpc':
      return { ...own, grpc: { ...probe.grpc, port } }
    case 'tcp':
      return { ...probe, httpGet: { path, port, scheme: 'HTTP' } }
    case 'http':
      return { ...own, httpGet: { ...probe.httpGet, path, port } }
    case 'https':
      return { ...own, httpGet: { ...probe.httpGet, path, port, scheme: 'HTTP' } }
  }
}

function original({ container, kind, probe }: PlacedProbe, { target }: InstanceProbeBinding): OriginalHealthProbe {
  const headers = probe.httpGet?.httpHeaders
  const { type, port, path, service } = target
  return {
    container: container.name,
    kind,
    type,
    port,
    ...(path !== undefined && { path }),
    ...(service !== undefined && { service }),
    ...(headers !== undefined && { headers: headers.map(({ name = '', value = '' }) => ({ name, value })) }),
    timeoutMs: timeoutOf(probe),
  }
}

function timeoutOf({ timeoutSeconds = 0 }: Probe): number {
  return Math.round((timeoutSeconds >= 1 ? timeoutSeconds : DEFAULT_TIMEOUT_SECONDS) * 1000)
}
