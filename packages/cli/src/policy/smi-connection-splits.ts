import { compareRoutes, type KindMap, type Snapshot } from '@osm-ts/core'

import { bytePorts, fittingPort, httpPorts, type RoutedPort } from './routed-ports.js'
import type { SplitReport } from './split-report.js'

type Route = KindMap['GatewayTCPRoute']
type Service = KindMap['Service']

/** An object of SMI. */
export interface SplitManifest {
  readonly apiVersion: string
  readonly kind: 'TrafficSplit' | 'HTTPRouteGroup'
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: object
}

/** A TCPRoute, and the ports of a Service that it is attached to. */
export interface AttachedConnections {
  readonly route: Route
  readonly ports: readonly number[]
}

interface Backend {
  readonly service: string
  readonly weight: number
}

/** What routes of a Service are translated to. */
interface Connections {
  readonly service: Service
  readonly routes: readonly AttachedConnections[]
  /** The TrafficSplit without matches that HTTPRoutes of the Service are translated to, and the first of these. */
  readonly whole: { readonly split: SplitManifest; readonly route: KindMap['HTTPRoute'] } | undefined
}

/** Why SMI cannot say something. */
interface Fault {
  readonly code: 'OSM_CLI_SPLIT_PARENT' | 'OSM_CLI_SPLIT_RULE'
  readonly field: string
  readonly message: string
}

/**
 * The TrafficSplit that does what the TCPRoutes of a Service do; undefined, with a problem if there are some, where the one for requests does it or none can. A
 * TrafficSplit without matches applies to all ports to which its backends have a fitting one.
 */
export function connectionSplit(
  snapshot: Snapshot,
  { service, routes, whole }: Connections,
  report: SplitReport,
): SplitManifest | undefined {
  const { namespace, name } = service.metadata
  const [first, ...rest] = routes.toSorted((a, b) => compareRoutes(a.route.metadata, b.route.metadata))
  if (first === undefined) {
    const touched = whole === undefined ? [] : portsOf(snapshot, service, backendsIn(whole.split), bytePorts)
    if (whole !== undefined && touched.length > 0) {
      const message = `a TrafficSplit applies to all ports of a Service: connections to ${numbers(touched)} go to its backends too`
      report.error(whole.route, 'OSM_CLI_SPLIT_PARENT', 'spec.parentRefs', message)
    }
    return undefined
  }
  for (const { route } of rest) {
    const message = `TCPRoute ${first.route.metadata.name} takes precedence at the Service; the route is omitted`
    report.error(route, 'OSM_CLI_SPLIT_PARENT', 'spec.parentRefs', message)
  }
  const backends = first.route.spec.rules.flatMap(({ backendRefs }) =>
    backendRefs.map((backend) => ({ service: backend.name, weight: backend.weight })),
  )
  const isSaid = whole !== undefined && JSON.stringify(backendsIn(whole.split)) === JSON.stringify(backends)
  const fault =
    faultOfBackends(snapshot, service, first) ?? faultOfPorts(snapshot, service, first, { backends, isSaid, whole })
  if (fault !== undefined) {
    report.error(first.route, fault.code, fault.field, `${fault.message}; the route is omitted`)
    return undefined
  }
  if (isSaid) return undefined
  return {
    apiVersion: 'split.smi-spec.io/v1alpha4',
    kind: 'TrafficSplit',
    metadata: { name, namespace },
    spec: { service: name, backends },
  }
}

function backendsIn({ spec }: SplitManifest): readonly Backend[] {
  // The TrafficSplit was made here.
  return (spec as { readonly backends: readonly Backend[] }).backends
}

/** Ports of a Service that a TrafficSplit with these backends would apply to. */
function portsOf(
  snapshot: Snapshot,
  service: Service,
  backends: readonly Backend[],
  candidates: typeof httpPorts,
): readonly RoutedPort[] {
  const found = backends.flatMap(
    (backend) => snapshot.get('Service', service.metadata.namespace, backend.service) ?? [],
  )
  return candidates(service).filter((apex) =>
    found.some((backend) => fittingPort(candidates(backend), apex) !== undefined),
  )
}

function faultOfPorts(
  snapshot: Snapshot,
  service: Service,
  { ports }: AttachedConnections,
  {
    backends,
    isSaid,
    whole,
  }: Pick<Connections, 'whole'> & { readonly backends: readonly Backend[]; readonly isSaid: boolean },
): Fault | undefined {
  const place = { code: 'OSM_CLI_SPLIT_PARENT', field: 'spec.parentRefs' } as const
  if (whole !== undefined && !isSaid)
    return { ...place, message: 'the TrafficSplit of the HTTPRoutes of the Service has other backends' }
  const touched = [
    ...portsOf(snapshot, service, backends, bytePorts).filter(({ port }) => !ports.includes(port)),
    ...(isSaid ? [] : portsOf(snapshot, service, backends, httpPorts)),
  ]
  if (touched.length === 0) return undefined
  return {
    ...place,
    message: `a TrafficSplit applies to all ports of a Service, and the route not to ${numbers(touched)}`,
  }
}

/** What a TrafficSplit cannot have of the backends of a route. */
function faultOfBackends(
  snapshot: Snapshot,
  service: Service,
  { route, ports }: AttachedConnections,
): Fault | undefined {
  const { namespace: own } = route.metadata
  const refs = route.spec.rules.flatMap(({ backendRefs }) => backendRefs)
  const apexes = bytePorts(service).filter(({ port }) => ports.includes(port))
  const faultOf = ({ group, kind, namespace = own, name, port }: (typeof refs)[number]): string | undefined => {
    if (group !== '' || kind !== 'Service') return 'a backend of a TrafficSplit is a Service'
    if (namespace !== own) return 'a backend of a TrafficSplit is in the namespace of the TrafficSplit'
    const found = snapshot.get('Service', namespace, name)
    if (found === undefined) return `there is no Service ${namespace}/${name}, whose share is closed`
    const wrong = apexes.find((apex) => fittingPort(bytePorts(found), apex)?.port !== port)
    return wrong === undefined
      ? undefined
      : `a TrafficSplit calls the backend on the port that fits port ${wrong.port} of the Service`
  }
  const code = 'OSM_CLI_SPLIT_RULE'
  const [fault] = refs.flatMap((backend, index): readonly Fault[] => {
    const message = faultOf(backend)
    return message === undefined ? [] : [{ code, field: `spec.rules[0].backendRefs[${index}]`, message }]
  })
  if (fault !== undefined || refs.some(({ weight }) => weight > 0)) return fault
  return { code, field: 'spec.rules[0].backendRefs', message: 'a TrafficSplit has a backend with a weight' }
}

function numbers(ports: readonly RoutedPort[]): string {
  return ports.map(({ port }) => port).join(', ')
}
