import { compareText, type ProbeBinding, type ProbeTarget } from '@osm-ts/driver-api'

import type { InstanceProbeBinding, KindMap, Probe } from '../../spec/index.js'
import { anyAddress, probePath, sidecarPorts, type IpFamilies } from './sidecar-addresses.js'

type Instance = KindMap['WorkloadInstance']

const DEFAULT_TIMEOUT_SECONDS = 1

/** Sorted, as the list of bindings is. */
const probeNames = ['liveness', 'readiness', 'startup'] as const

/** Port on which the process listens, given a port as Services see it. */
export function localPort({ spec }: Instance, port: number): number {
  return spec.ports.find((candidate) => candidate.port === port)?.localPort ?? port
}

/**
 * Probes that the sidecar answers for, because whoever asks has no certificate. Sorted by probe.
 *
 * Bindings that came with the instance hold as they are: whoever rewrote the probes has told the kubelet of them. None in explicit mode, where the application's own port can be asked. None for TCP probes: a sidecar would accept the connection whether or not the
 * application does, so the agent beside it has to ask.
 */
export function probeBindings(instance: Instance, families: IpFamilies): readonly ProbeBinding[] {
  const { probes = {}, probeBindings: given, mode, workload } = instance.spec
  if (mode === 'explicit') return []
  const listenOn = (port: number): ProbeBinding['listen'] => ({ address: anyAddress(families), port })
  if (given !== undefined)
    return [...given]
      .sort((a, b) => compareText(a.container, b.container) || compareText(a.probe, b.probe))
      .map((binding) => givenBinding(binding, listenOn(binding.port)))
  return probeNames.flatMap((probe): readonly ProbeBinding[] => {
    const source = probes[probe]
    const target = source && probeTarget(instance, source)
    if (source === undefined || target === undefined) return []
    return [
      {
        container: workload,
        probe,
        listen: listenOn(sidecarPorts[probe]),
        path: target.type === 'http' ? probePath(probe) : '',
        target,
        timeoutMs: (source.timeoutSeconds || DEFAULT_TIMEOUT_SECONDS) * 1000,
      },
    ]
  })
}

function givenBinding(
  { container, probe, path, target, timeoutMs }: InstanceProbeBinding,
  listen: ProbeBinding['listen'],
): ProbeBinding {
  return { container, probe, listen, path, target, timeoutMs }
}

function probeTarget(instance: Instance, { httpGet, grpc }: Probe): ProbeTarget | undefined {
  if (grpc !== undefined) {
    const service = grpc.service === undefined ? {} : { service: grpc.service }
    return { type: 'grpc', port: localPort(instance, grpc.port), ...service }
  }
  const port = httpGet && portNumber(instance, httpGet.port)
  if (httpGet === undefined || port === undefined) return undefined
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
