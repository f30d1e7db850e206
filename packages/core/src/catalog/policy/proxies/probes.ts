import { compareText, type ProbeBinding, type ProbeTarget } from '@osm-ts/driver-api/policy'

import type { InstanceProbeBinding, KindMap, Probe } from '../../../spec/index.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import {
  anyAddress,
  GRPC_HEALTH_PATH,
  isSidecarPort,
  probePath,
  sidecarPorts,
  type IpFamilies,
} from './sidecar-addresses.js'

type Instance = KindMap['WorkloadInstance']

const DEFAULT_TIMEOUT_SECONDS = 1

/** Sorted, as the list of bindings is. */
const probeNames = ['liveness', 'readiness', 'startup'] as const

/** Port on which the process listens, given a port as Services see it. */
export function localPort({ spec }: Instance, port: number): number {
  return spec.ports.find((candidate) => candidate.port === port)?.localPort ?? port
}

/** A binding, and where it is written down. */
interface WrittenBinding {
  readonly binding: Omit<ProbeBinding, 'listen'> & { readonly port: number }
  /** Field of the instance. */
  readonly field: string
}

/**
 * Probes that the sidecar answers for, because anyone who asks has no certificate. Sorted by container and probe.
 *
 * Bindings that came with the instance hold as they are: anyone who rewrote the probes has told the kubelet of them. Without any, probes are answered as an
 * injector would have rewritten them: by a path of the sidecar for each, and never by a connection that is passed on, which would lead past mutual TLS. None
 * in explicit mode, where the application's own port can be asked. None that aims at the sidecar itself.
 */
export function probeBindings(instance: Instance, families: IpFamilies): readonly ProbeBinding[] {
  return writtenBindings(instance)
    .filter(({ binding: { target } }) => !isSidecarPort(target.port))
    .map(({ binding: { container, probe, port, path, target, timeoutMs } }) => {
      return { container, probe, listen: { address: anyAddress(families), port }, path, target, timeoutMs }
    })
}

/** Probes of an instance that are answered by no one. */
export function probeProblems(instance: Instance): readonly PolicyProblem[] {
  const problems = new ProblemList(objectRefOf('WorkloadInstance', instance.metadata))
  for (const { binding, field } of writtenBindings(instance)) {
    const { container, probe, target } = binding
    if (!isSidecarPort(target.port)) continue
    const message = `the ${probe} probe of container ${container} asks port ${target.port}, which is one of the sidecar; the probe is not answered, name a port of the workload`
    problems.warning('OSM_POLICY_PROBE', field, message)
  }
  return problems.items
}

function writtenBindings(instance: Instance): readonly WrittenBinding[] {
  const { probes = {}, probeBindings: given, mode, workload } = instance.spec
  if (mode === 'explicit') return []
  if (given !== undefined)
    return given
      .map((binding, index) => ({ binding, field: `spec.probeBindings[${index}].target.port` }))
      .sort(({ binding: a }, { binding: b }) => compareText(a.container, b.container) || compareText(a.probe, b.probe))
  return probeNames.flatMap((probe): readonly WrittenBinding[] => {
    const source = probes[probe]
    const target = source && probeTarget(instance, source)
    if (source === undefined || target === undefined) return []
    return [{ binding: ownBinding(workload, probe, source, target), field: `spec.probes.${probe}` }]
  })
}

function ownBinding(
  container: string,
  probe: InstanceProbeBinding['probe'],
  { timeoutSeconds }: Probe,
  target: ProbeTarget,
): WrittenBinding['binding'] {
  return {
    container,
    probe,
    port: sidecarPorts[probe],
    path: target.type === 'grpc' ? GRPC_HEALTH_PATH : probePath(probe),
    target,
    timeoutMs: (timeoutSeconds || DEFAULT_TIMEOUT_SECONDS) * 1000,
  }
}

function probeTarget(instance: Instance, { httpGet, tcpSocket, grpc }: Probe): ProbeTarget | undefined {
  if (grpc !== undefined) {
    const service = grpc.service === undefined ? {} : { service: grpc.service }
    return { type: 'grpc', port: localPort(instance, grpc.port), ...service }
  }
  const named = httpGet?.port ?? tcpSocket?.port
  const port = named === undefined ? undefined : portNumber(instance, named)
  if (port === undefined) return undefined
  if (httpGet === undefined) return { type: 'tcp', port: localPort(instance, port) }
  const { path, scheme, httpHeaders } = httpGet
  return {
    type: scheme === 'HTTPS' ? 'https' : 'http',
    port: localPort(instance, port),
    path: path || '/',
    ...(httpHeaders === undefined ? {} : { headers: httpHeaders }),
  }
}

function portNumber({ spec }: Instance, port: number | string): number | undefined {
  return typeof port === 'number' ? port : spec.ports.find(({ name }) => name === port)?.port
}
