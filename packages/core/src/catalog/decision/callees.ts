import type { MeshService } from '@osm-ts/driver-api'

import type { Snapshot } from '../../snapshot/index.js'
import { dialledPorts, portProtocol, type KindMap } from '../../spec/index.js'
import { matchFault, namedMatches, unmetConditions, type MatchableRequest } from './match-request.js'

type Split = KindMap['TrafficSplit']
type ServicePort = KindMap['Service']['spec']['ports'][number]

/** A service port that a request ends up at. */
export interface Callee {
  readonly service: MeshService
  readonly port: ServicePort
  /** Split that led there; undefined if none did. */
  readonly split: Split | undefined
}

/** What callees are found with. */
export interface CalleeContext {
  readonly snapshot: Snapshot
  /** True if somebody who can hold a certificate is behind the service. */
  readonly hasWorkloads: (service: MeshService) => boolean
  /** False for Services outside the mesh. */
  readonly isServed: (service: MeshService) => boolean
}

/** True if requests over a port can be seen one by one. */
export function speaksHttp(port: ServicePort): boolean {
  const { protocol } = portProtocol(port)
  return protocol === 'http' || protocol === 'http2' || protocol === 'grpc'
}

/** TCP ports of a service in the order of their numbers. */
export function tcpPorts(service: KindMap['Service']): readonly ServicePort[] {
  if (service.spec.type === 'ExternalName') return []
  return dialledPorts(service).toSorted((a, b) => a.port - b.port)
}

/**
 * Where a request to a service port may go: the backends of the first TrafficSplit that applies, or the service itself. Empty if a split applies whose
 * backends get nothing.
 */
export function callees(
  context: CalleeContext,
  service: KindMap['Service'],
  port: ServicePort,
  request: MatchableRequest,
): readonly Callee[] {
  const { snapshot, hasWorkloads } = context
  const splits = snapshot
    .byNamespace('TrafficSplit', service.metadata.namespace)
    .filter((split) => isSplitOf(split, service) && usable(context, split).length > 0)
  const limited = splits.filter((split) => isLimited(split) && speaksHttp(port))
  const whole = splits.filter((split) => !isLimited(split)).slice(0, 1)
  for (const split of [...limited, ...whole]) {
    const fitting = usable(context, split).flatMap((backend) => fittingPort(backend, port))
    if (fitting.length === 0 || !appliesTo(snapshot, split, request)) continue
    return fitting
      .filter(({ backend }) => weightOf(split, backend) > 0 && hasWorkloads(nameOf(backend)))
      .map(({ backend, port: backendPort }) => ({ service: nameOf(backend), port: backendPort, split }))
  }
  return [{ service: nameOf(service), port, split: undefined }]
}

function isSplitOf({ spec, metadata }: Split, service: KindMap['Service']): boolean {
  const [name, namespace = metadata.namespace] = spec.service.split('.')
  return name === service.metadata.name && namespace === metadata.namespace
}

function isLimited({ spec }: Split): boolean {
  return (spec.matches ?? []).length > 0
}

function appliesTo(snapshot: Snapshot, split: Split, request: MatchableRequest): boolean {
  if (!isLimited(split)) return true
  return (split.spec.matches ?? [])
    .flatMap(({ name }) => {
      const group = snapshot.get('HTTPRouteGroup', split.metadata.namespace, name)
      return group === undefined ? [] : namedMatches(group)
    })
    .some((match) => matchFault(match) === undefined && unmetConditions(match, request).length === 0)
}

function usable({ snapshot, isServed }: CalleeContext, { metadata, spec }: Split): readonly KindMap['Service'][] {
  const names = new Set(spec.backends.filter(({ weight }) => weight >= 0).map(({ service }) => service))
  return [...names].flatMap((name) => {
    const service = snapshot.get('Service', metadata.namespace, name)
    return service === undefined || !isServed(nameOf(service)) ? [] : [service]
  })
}

function weightOf({ spec }: Split, backend: KindMap['Service']): number {
  const weights = spec.backends
    .filter(({ service }) => service === backend.metadata.name)
    .map(({ weight }) => Math.max(weight, 0))
  return weights.reduce((sum, weight) => sum + weight, 0)
}

function fittingPort(
  backend: KindMap['Service'],
  apexPort: ServicePort,
): readonly { readonly backend: KindMap['Service']; readonly port: ServicePort }[] {
  const ports = tcpPorts(backend)
  const port =
    ports.find((candidate) => candidate.port === apexPort.port) ??
    ports.find((candidate) => candidate.name !== undefined && candidate.name === apexPort.name)
  return port === undefined || speaksHttp(port) !== speaksHttp(apexPort) ? [] : [{ backend, port }]
}

function nameOf({ metadata: { namespace, name } }: KindMap['Service']): MeshService {
  return { namespace, name }
}
