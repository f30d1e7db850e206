import {
  dialledPorts,
  type Endpoint,
  type EndpointsProvider,
  formatProblem,
  isOfKind,
  type KindMap,
  known,
  localityOf,
  type ObjectSource,
  readObjects,
  resolveTargetPort,
  type Snapshot,
  unknownLocality,
} from '@osm-ts/core'
import type { MeshService } from '@osm-ts/driver-api'

/** The IPv4 dummy address, which no host has (RFC 7600). */
const ASSUMED_ADDRESS = '192.0.0.8'

/** A provider that knows one endpoint of one Service, at an address that no host has. */
export function assumedEndpoint(service: MeshService): EndpointsProvider {
  const endpoint: Endpoint = {
    address: ASSUMED_ADDRESS,
    port: 1,
    servicePort: 1,
    targetPort: 1,
    weight: 1,
    priority: 0,
    account: undefined,
    sidecar: undefined,
    hostname: undefined,
    locality: unknownLocality,
    cluster: '',
  }
  const isIt = ({ namespace, name }: MeshService): boolean => namespace === service.namespace && name === service.name
  return provider('assumed', (asked) => (isIt(asked) ? [endpoint] : []))
}

/** A provider that knows an endpoint of each Workload that the mesh would start. Policies name upstreams only where there are endpoints. */
export function assumedWorkloads(snapshot: Snapshot): EndpointsProvider {
  const started = snapshot.list('Workload').filter(({ spec }) => spec.address === undefined)
  const addresses = new Map(started.map((workload, index) => [workload, `2001:db8::${(index + 1).toString(16)}`]))
  return provider('assumed-workloads', ({ namespace, name }) => {
    const service = snapshot.get('Service', namespace, name)
    if (service === undefined) return []
    return snapshot.workloadsOf(service).flatMap((workload) => {
      const { metadata, spec } = workload
      const address = addresses.get(workload)
      return dialledPorts(service).flatMap((port): readonly Endpoint[] => {
        const targetPort = resolveTargetPort(port, spec.ports)
        if (address === undefined || targetPort === undefined) return []
        return [
          {
            address,
            port: targetPort,
            servicePort: port.port,
            targetPort,
            weight: 1,
            priority: 0,
            account: { namespace: metadata.namespace, name: spec.serviceAccountName },
            sidecar: spec.sidecar ? { uuid: '', class: spec.sidecarClass ?? '', mode: 'transparent' } : undefined,
            hostname: undefined,
            locality: localityOf(metadata.labels),
            cluster: '',
          },
        ]
      })
    })
  })
}

/** An instance of each Workload that the mesh would start, so that policies are computed for it. `sources` have to have started when it is asked. */
export function assumedInstances(sources: readonly ObjectSource[]): ObjectSource {
  return {
    name: 'assumed-instances',
    start: () => Promise.resolve(),
    subscribe: () => () => undefined,
    problems: () => [],
    locate: () => undefined,
    objects: () => {
      const workloads = sources
        .flatMap((source) => source.objects())
        .filter((object) => isOfKind(object, 'Workload'))
        .filter(({ spec }) => spec.address === undefined && spec.sidecar)
      const documents = workloads.map((workload, index) => instanceOf(workload, index + 1))
      const { objects, problems } = readObjects(documents.join('\n---\n'), { writtenBy: 'runtime' })
      const [problem] = problems
      if (problem !== undefined) throw new Error(`an instance of a valid Workload is valid: ${formatProblem(problem)}`)
      return objects
    },
  }
}

function instanceOf({ metadata, spec }: KindMap['Workload'], number: number): string {
  const hexadecimal = number.toString(16)
  return JSON.stringify({
    apiVersion: 'standalone.openservicemesh.io/v1alpha1',
    kind: 'WorkloadInstance',
    metadata: { name: metadata.name, namespace: metadata.namespace, labels: metadata.labels },
    spec: {
      uuid: `00000000-0000-4000-8000-${hexadecimal.padStart(12, '0')}`,
      workload: metadata.name,
      serviceAccountName: spec.serviceAccountName,
      // Policy does not depend on the class; any name will do.
      sidecarClass: spec.sidecarClass ?? 'envoy',
      mode: 'transparent',
      addresses: [`2001:db8::${hexadecimal}`],
      ports: spec.ports,
      ready: true,
      createdAt: '2000-01-01T00:00:00Z',
    },
  })
}

function provider(id: string, endpointsOf: (service: MeshService) => readonly Endpoint[]): EndpointsProvider {
  return {
    id,
    listEndpointsForService: (service) => known(endpointsOf(service)),
    listIdentitiesForService: () => known([]),
    listServicesForIdentity: () => known([]),
    listEndpointsForIdentity: () => known([]),
    announcements: () => () => undefined,
  }
}
