import { isDnsSubdomain } from '../../identity/index.js'
import { isAddress } from '../addresses.js'
import type { KindMap } from '../objects.js'
import { didYouMean } from '../suggest.js'
import { doubt, fault, findings, unknownAccount, type CheckContext, type Finding } from './check.js'

type Workload = KindMap['Workload']

/** Workloads that can't be started or reached. */
export function checkWorkload({ metadata, spec }: Workload, context: CheckContext): readonly Finding[] {
  const { address, command } = spec
  return findings(
    unknownAccount(context, metadata.namespace, spec.serviceAccountName, 'spec.serviceAccountName'),
    address === undefined &&
      command === undefined &&
      fault(
        'OSM_SPEC_WORKLOAD',
        'spec',
        'has neither a command to start nor the address of a workload that runs elsewhere; set one of the two',
      ),
    address !== undefined &&
      command !== undefined &&
      fault(
        'OSM_SPEC_WORKLOAD',
        'spec.command',
        'is not started: a workload with an address runs elsewhere; remove one of the two',
      ),
    address !== undefined &&
      !isAddress(address) &&
      !isDnsSubdomain(address.toLowerCase()) &&
      fault('OSM_SPEC_ADDRESS', 'spec.address', `${JSON.stringify(address)} is neither an IP address nor a host name`),
    address === undefined &&
      !spec.sidecar &&
      doubt(
        'OSM_SPEC_NO_EFFECT',
        'spec.sidecar',
        'is false: a workload that is started here without a sidecar is outside the mesh',
      ),
    checkPorts(spec.ports),
    checkProbes(spec),
  )
}

function checkPorts(ports: Workload['spec']['ports']): readonly Finding[] {
  const seen = { port: new Set<number>(), localPort: new Set<number>(), name: new Set<string>() }
  return ports.flatMap(({ port, localPort = port, name }, index) => {
    const field = `spec.ports[${index}]`
    const repeated = {
      port: seen.port.has(port),
      localPort: seen.localPort.has(localPort),
      name: name !== undefined && seen.name.has(name),
    }
    seen.port.add(port)
    seen.localPort.add(localPort)
    if (name !== undefined) seen.name.add(name)
    return findings(
      repeated.port &&
        fault(
          'OSM_SPEC_WORKLOAD',
          `${field}.port`,
          `${port} is already a port of this Workload; the first one applies`,
        ),
      repeated.localPort &&
        !repeated.port &&
        doubt('OSM_SPEC_WORKLOAD', `${field}.localPort`, `${localPort} is already the local port of another port`),
      repeated.name &&
        fault(
          'OSM_SPEC_WORKLOAD',
          `${field}.name`,
          `${JSON.stringify(name)} is already the name of another port; names must be unique`,
        ),
    )
  })
}

function checkProbes({ probes, ports }: Workload['spec']): readonly Finding[] {
  const names = ports.flatMap(({ name }) => name ?? [])
  const kinds = ['liveness', 'readiness', 'startup'] as const
  return kinds.flatMap((kind) => {
    const probe = probes?.[kind]
    if (probe === undefined) return []
    const field = `spec.probes.${kind}`
    const handlers = (['httpGet', 'tcpSocket', 'grpc', 'exec'] as const).filter(
      (handler) => probe[handler] !== undefined,
    )
    return findings(
      handlers.length !== 1 &&
        fault(
          'OSM_SPEC_WORKLOAD',
          field,
          `must have exactly one of httpGet, tcpSocket, grpc and exec, not ${handlers.join(' and ') || 'none'}`,
        ),
      unnamedPort(probe.httpGet?.port, `${field}.httpGet.port`, names),
      unnamedPort(probe.tcpSocket?.port, `${field}.tcpSocket.port`, names),
    )
  })
}

function unnamedPort(port: number | string | undefined, field: string, names: readonly string[]): Finding | undefined {
  if (typeof port !== 'string' || names.includes(port)) return undefined
  return fault(
    'OSM_SPEC_WORKLOAD',
    field,
    `the Workload has no port named ${JSON.stringify(port)}${didYouMean(port, names)}`,
  )
}
