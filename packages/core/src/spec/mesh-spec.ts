import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import type { Snapshot, SnapshotUpdate } from '../snapshot/snapshot.js'
import type { KindMap, ObjectKey } from './objects.js'
import { serviceHostName, splitApexName } from './service-names.js'

/** A backend of a TrafficSplit. */
export interface WeightedService {
  readonly service: MeshService
  /** Share of the traffic of the apex, relative to the sum over its backends. */
  readonly weight: number
  /** The apex: the service that clients call. */
  readonly rootService: MeshService
}

/** Word that the mesh specification changed. */
export interface MeshSpecAnnouncement {
  readonly snapshot: Snapshot
  /** What changed; sorted. */
  readonly changed: readonly ObjectKey[]
}

/**
 * The mesh specification: what people declared about the mesh.
 *
 * It knows services, identities and policies; it knows nothing of proxies, addresses or endpoints. Lists are sorted by
 * namespace and name and hold only what lies in monitored namespaces.
 */
export interface MeshSpec {
  /** All TrafficSplits. */
  listTrafficSplits(): readonly KindMap['TrafficSplit'][]
  /** All backends of TrafficSplits, with their weight and apex. */
  listTrafficSplitServices(): readonly WeightedService[]
  /** The service accounts that effective TrafficTargets name as source or destination. */
  listServiceAccounts(): readonly ServiceAccountRef[]
  /** The Service, or undefined. */
  getService(service: MeshService): KindMap['Service'] | undefined
  /** All Services. */
  listServices(): readonly KindMap['Service'][]
  /** All HTTPRouteGroups. */
  listHTTPTrafficSpecs(): readonly KindMap['HTTPRouteGroup'][]
  /** All TCPRoutes. */
  listTCPTrafficSpecs(): readonly KindMap['TCPRoute'][]
  /** The TrafficTargets that have an effect: see {@link isEffectiveTrafficTarget}. */
  listTrafficTargets(): readonly KindMap['TrafficTarget'][]
  /**
   * Connection limits and rate limits for a service: the UpstreamTrafficSetting of its namespace that names its host.
   */
  getBackpressurePolicy(service: MeshService): KindMap['UpstreamTrafficSetting'] | undefined
  /** Calls the listener after every change. The result ends it. */
  announcements(listener: (announcement: MeshSpecAnnouncement) => void): () => void
  /** The older, narrower view of the same. */
  topology(): MeshTopology
}

/** The name of a service that SMI policy speaks of: `<namespace>/<name>`. */
export type ServiceName = `${string}/${string}`

/** The topology of the mesh as SMI policy declares it. */
export interface MeshTopology {
  /** All TrafficSplits. */
  listTrafficSplits(): readonly KindMap['TrafficSplit'][]
  /**
   * Names of all services that SMI policy speaks of: apexes and backends of splits, and services of the destinations of
   * TrafficTargets.
   */
  listServices(): readonly ServiceName[]
  /** The Service behind a name; `exists` is false if there is none. */
  getService(name: ServiceName): { readonly service: KindMap['Service'] | undefined; readonly exists: boolean }
}

/** Which namespaces take part in the mesh. */
export type Enrolment =
  /** All but those with the label `openservicemesh.io/ignore`. */
  | { readonly mode: 'all' }
  /** Those with the label `openservicemesh.io/monitored-by=<meshName>` and without `openservicemesh.io/ignore`. */
  | { readonly mode: 'labelled'; readonly meshName: string }

/** Where a mesh specification reads. */
export interface MeshSpecOptions {
  /** The snapshot to answer from; called for every question. */
  readonly current: () => Snapshot
  readonly subscribe: (listener: (update: SnapshotUpdate) => void) => () => void
  readonly enrolment: Enrolment
  /** DNS domain of services, such as cluster.local. */
  readonly clusterDomain: string
}

/** True if the namespace takes part in the mesh. */
export function isMonitored(snapshot: Snapshot, namespace: string, enrolment: Enrolment): boolean {
  const labels = snapshot.get('Namespace', '', namespace)?.metadata.labels ?? {}
  // The label's presence counts, as it does for the webhooks.
  if (Object.hasOwn(labels, 'openservicemesh.io/ignore')) return false
  return enrolment.mode === 'all' || labels['openservicemesh.io/monitored-by'] === enrolment.meshName
}

/** Namespace of the destination of a TrafficTarget, which is its own unless written otherwise. */
export function destinationNamespace(target: KindMap['TrafficTarget']): string {
  return target.spec.destination.namespace ?? target.metadata.namespace
}

/**
 * True if a TrafficTarget allows anything: it is in the namespace of its destination, and every one of its rules is
 * of a known kind.
 */
export function isEffectiveTrafficTarget(target: KindMap['TrafficTarget']): boolean {
  const { destination, rules } = target.spec
  return (
    destination.kind === 'ServiceAccount' &&
    destinationNamespace(target) === target.metadata.namespace &&
    rules.length > 0 &&
    rules.every(({ kind }) => kind === 'HTTPRouteGroup' || kind === 'TCPRoute')
  )
}

/** The mesh specification over snapshots, whatever source they come from. */
export class SnapshotMeshSpec implements MeshSpec {
  readonly #options: MeshSpecOptions

  constructor(options: MeshSpecOptions) {
    this.#options = options
  }

  listTrafficSplits(): readonly KindMap['TrafficSplit'][] {
    return this.#monitored(this.#snapshot.list('TrafficSplit'))
  }

  listTrafficSplitServices(): readonly WeightedService[] {
    return this.listTrafficSplits().flatMap(({ metadata: { namespace }, spec }) =>
      spec.backends.map(({ service, weight }) => ({
        service: { namespace, name: service },
        weight,
        rootService: { namespace, name: splitApexName(spec.service) },
      })),
    )
  }

  listServiceAccounts(): readonly ServiceAccountRef[] {
    const found = new Map<string, ServiceAccountRef>()
    for (const target of this.listTrafficTargets()) {
      const { destination, sources } = target.spec
      const accounts = sources.filter(({ kind }) => kind === 'ServiceAccount').concat(destination)
      for (const { name, namespace = target.metadata.namespace } of accounts)
        if (this.#isMonitored(namespace)) found.set(`${namespace}/${name}`, { namespace, name })
    }
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, account]) => account)
  }

  getService({ namespace, name }: MeshService): KindMap['Service'] | undefined {
    return this.#isMonitored(namespace) ? this.#snapshot.get('Service', namespace, name) : undefined
  }

  listServices(): readonly KindMap['Service'][] {
    return this.#monitored(this.#snapshot.list('Service'))
  }

  listHTTPTrafficSpecs(): readonly KindMap['HTTPRouteGroup'][] {
    return this.#monitored(this.#snapshot.list('HTTPRouteGroup'))
  }

  listTCPTrafficSpecs(): readonly KindMap['TCPRoute'][] {
    return this.#monitored(this.#snapshot.list('TCPRoute'))
  }

  listTrafficTargets(): readonly KindMap['TrafficTarget'][] {
    return this.#monitored(this.#snapshot.list('TrafficTarget')).filter(isEffectiveTrafficTarget)
  }

  getBackpressurePolicy(service: MeshService): KindMap['UpstreamTrafficSetting'] | undefined {
    if (!this.#isMonitored(service.namespace)) return undefined
    const host = serviceHostName(service, this.#options.clusterDomain)
    // Lists are sorted, so that of several settings for one host the first by name holds on every replica.
    return this.#snapshot
      .byNamespace('UpstreamTrafficSetting', service.namespace)
      .find(({ spec }) => spec.host.toLowerCase() === host)
  }

  announcements(listener: (announcement: MeshSpecAnnouncement) => void): () => void {
    return this.#options.subscribe(({ snapshot, changed }) => {
      listener({ snapshot, changed })
    })
  }

  topology(): MeshTopology {
    return {
      listTrafficSplits: () => this.listTrafficSplits(),
      listServices: () => this.#declaredServices(),
      getService: (name) => {
        const [namespace = '', service = ''] = name.split('/')
        const found = this.getService({ namespace, name: service })
        return { service: found, exists: found !== undefined }
      },
    }
  }

  get #snapshot(): Snapshot {
    return this.#options.current()
  }

  #declaredServices(): readonly ServiceName[] {
    const snapshot = this.#snapshot
    const split = this.listTrafficSplitServices().flatMap(({ service, rootService }) => [rootService, service])
    const targeted = this.listTrafficTargets().flatMap(({ metadata: { namespace }, spec }) =>
      servicesOfAccount(snapshot, { namespace, name: spec.destination.name }),
    )
    const names = [...split, ...targeted].map(({ namespace, name }) => `${namespace}/${name}` as const)
    return [...new Set(names)].sort()
  }

  #isMonitored(namespace: string): boolean {
    return isMonitored(this.#snapshot, namespace, this.#options.enrolment)
  }

  #monitored<T extends { readonly metadata: { readonly namespace: string } }>(objects: readonly T[]): readonly T[] {
    const known = new Map<string, boolean>()
    return objects.filter(({ metadata: { namespace } }) => {
      const answer = known.get(namespace) ?? this.#isMonitored(namespace)
      known.set(namespace, answer)
      return answer
    })
  }
}

/** The services that select a workload, or a running instance, of the service account; sorted by name. */
export function servicesOfAccount(snapshot: Snapshot, account: ServiceAccountRef): readonly MeshService[] {
  const members = [...snapshot.workloadsOfIdentity(account), ...snapshot.instancesOfIdentity(account)]
  const names = new Set(
    members.flatMap(({ metadata }) =>
      snapshot.servicesSelecting(metadata.namespace, metadata.labels).map((service) => service.metadata.name),
    ),
  )
  return [...names].sort().map((name) => ({ namespace: account.namespace, name }))
}
