import type { MeshService } from '@osm-ts/driver-api'

import type { Snapshot } from '../snapshot/snapshot.js'
import { type DialledPort, dialledPorts } from '../spec/dialled-ports.js'
import type { KindMap } from '../spec/objects.js'
import type { ServicePort } from '../spec/schema/core-v1.js'
import type { WorkloadPort } from '../spec/schema/workload.js'
import { type Endpoint, localityOf } from './endpoint.js'

/** A service as it is asked for: the name may be `<hostname>.<service>` for one instance of a headless service. */
export interface ServiceQuery {
  readonly service: KindMap['Service']
  readonly hostname: string | undefined
}

/** The Service that a name means, and the one instance of it if the name says so. */
export function findService(snapshot: Snapshot, { namespace, name }: MeshService): ServiceQuery | undefined {
  const service = snapshot.get('Service', namespace, name)
  if (service !== undefined) return { service, hostname: undefined }
  const dot = name.lastIndexOf('.')
  const parent = dot === -1 ? undefined : snapshot.get('Service', namespace, name.slice(dot + 1))
  return parent === undefined ? undefined : { service: parent, hostname: name.slice(0, dot) }
}

/** Key of a service port in the allocations of an instance: `<namespace>/<service>|<port>`. */
export function allocationKey(service: MeshService, port: number): string {
  return `${service.namespace}/${service.name}|${port}`
}

/** The port of a workload that a service port leads to; undefined if it names a port that the workload doesn't have. */
export function resolveTargetPort(
  { port, targetPort }: ServicePort,
  ports: readonly WorkloadPort[],
): number | undefined {
  if (targetPort === undefined) return port
  return typeof targetPort === 'number' ? targetPort : ports.find(({ name }) => name === targetPort)?.port
}

/**
 * Endpoints of running instances of this machine, and of workloads that run elsewhere at a known address.
 *
 * @param counts - whether an instance is one of those
 */
export function localEndpoints(
  snapshot: Snapshot,
  { service, hostname }: ServiceQuery,
  counts: (instance: KindMap['WorkloadInstance']) => boolean,
): readonly Endpoint[] {
  const ports = dialledPorts(service)
  const evenUnready = service.spec.publishNotReadyAddresses === true
  const instances = snapshot
    .instancesOf(service)
    .filter(
      (instance) =>
        counts(instance) &&
        (instance.spec.ready || evenUnready) &&
        (hostname === undefined || instance.spec.hostname === hostname),
    )
  const remote = hostname === undefined ? snapshot.workloadsOf(service) : []
  return ports.flatMap((port) => [
    ...instances.flatMap((instance) => ofInstance(service, port, instance)),
    ...remote.flatMap((workload) => ofAddress(port, workload)),
  ])
}

function ofInstance(
  service: KindMap['Service'],
  port: DialledPort,
  { metadata, spec }: KindMap['WorkloadInstance'],
): Endpoint[] {
  const targetPort = resolveTargetPort(port, spec.ports)
  const [address] = spec.addresses
  if (targetPort === undefined || address === undefined) return []
  const listener =
    spec.mode === 'transparent'
      ? { address, port: targetPort }
      : spec.allocations?.inbound[allocationKey(service.metadata, service.spec.ports[port.index]?.port ?? port.port)]
  // The supervisor has not heard of the service port yet: it will publish a listener for it.
  if (listener === undefined) return []
  return [
    {
      ...listener,
      servicePort: port.port,
      targetPort,
      weight: 100,
      priority: 0,
      account: { namespace: metadata.namespace, name: spec.serviceAccountName },
      sidecar: { uuid: spec.uuid, class: spec.sidecarClass, mode: spec.mode },
      hostname: spec.hostname,
      locality: localityOf(metadata.labels),
      cluster: '',
      ...(spec.network !== undefined && { network: spec.network }),
      ...(spec.isMachine === true && { isAddressWritten: true }),
    },
  ]
}

function ofAddress(port: ServicePort, { metadata, spec }: KindMap['Workload']): Endpoint[] {
  const targetPort = resolveTargetPort(port, spec.ports)
  if (spec.address === undefined || targetPort === undefined) return []
  return [
    {
      address: spec.address,
      port: targetPort,
      servicePort: port.port,
      targetPort,
      weight: 100,
      priority: 0,
      account: { namespace: metadata.namespace, name: spec.serviceAccountName },
      sidecar: spec.sidecar ? { uuid: '', class: spec.sidecarClass ?? '', mode: 'transparent' } : undefined,
      hostname: undefined,
      locality: localityOf(metadata.labels),
      cluster: '',
      isAddressWritten: true,
    },
  ]
}
