import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import {
  type Answer,
  dialledPorts,
  type Endpoint,
  type EndpointsAnnouncement,
  type EndpointsErrorCode,
  type EndpointSidecar,
  type EndpointsProvider,
  importedAccounts,
  importedEndpoints,
  importedServices,
  type KindMap,
  known,
  localityOf,
  type Problem,
  type Snapshot,
  type SnapshotUpdate,
  sortedNames,
  uniqueEndpoints,
} from '@osm-ts/core'

import type { ClusterView } from '../source/cluster-view.js'
import type { SliceEndpoint } from '../source/endpoint-slice.js'
import type { NamespaceScope } from '../source/namespace-scope.js'
import { podAccount, podAddresses, podLabels, type PodItem } from '../source/pod.js'
import { endpointsAffectedBy, servicesOfPods } from './kubernetes-endpoints-changes.js'
import { UncertainQueries } from './uncertain-queries.js'

/** Where the provider reads. */
export interface KubernetesEndpointsOptions {
  /** Unique among the providers of a mesh; kubernetes when absent. */
  readonly id?: string
  readonly cluster: ClusterView
  /** Where services of other clusters are written down. */
  readonly current: () => Snapshot | undefined
  readonly subscribe: (listener: (update: SnapshotUpdate) => void) => () => void
}

/** A service as it is asked for: all of it, or the one instance that `<hostname>.<service>` names. */
interface Query {
  readonly scope: NamespaceScope
  readonly service: KindMap['Service']
  readonly hostname: string | undefined
}

/**
 * The provider of a cluster: endpoint slices say where services run and which endpoints take traffic, pods say under
 * which identity and behind which sidecar.
 *
 * An endpoint that names no pod, or whose pod has no sidecar, is one outside the mesh. One whose pod is not known yet, or
 * whose sidecar is not, is left out: no one can say whether it must be spoken to by mutual TLS. While the API server can't be reached
 * answers are `stale`: what was known last, never nothing.
 */
export class KubernetesEndpointsProvider implements EndpointsProvider {
  readonly id: string
  readonly #options: KubernetesEndpointsOptions
  readonly #unsure = new UncertainQueries()

  constructor(options: KubernetesEndpointsOptions) {
    this.id = options.id ?? 'kubernetes'
    this.#options = options
  }

  listEndpointsForService(service: MeshService): Answer<Endpoint> {
    const query = this.#find(service)
    const local = query === undefined ? [] : endpointsOf(query)
    return this.#answer('services', service, uniqueEndpoints([...local, ...this.#imported(service)]))
  }

  listIdentitiesForService(service: MeshService): Answer<ServiceAccountRef> {
    const query = this.#find(service)
    const local = query === undefined ? [] : accountsBehind(query)
    const snapshot = this.#options.current()
    const imported = snapshot === undefined ? [] : importedAccounts(snapshot, service)
    return this.#answer('services', service, sortedNames([...local, ...imported]))
  }

  listServicesForIdentity(account: ServiceAccountRef): Answer<MeshService> {
    return this.#answer('accounts', account, this.#servicesOf(account))
  }

  listEndpointsForIdentity(account: ServiceAccountRef): Answer<Endpoint> {
    const endpoints = this.#servicesOf(account).flatMap((service) => {
      const query = this.#find(service)
      const local = query === undefined ? [] : endpointsOf(query)
      return [...local, ...this.#imported(service)]
    })
    const own = endpoints.filter(
      (endpoint) => endpoint.account?.namespace === account.namespace && endpoint.account.name === account.name,
    )
    return this.#answer('accounts', account, uniqueEndpoints(own))
  }

  announcements(listener: (announcement: EndpointsAnnouncement) => void): () => void {
    let before = this.#options.current()
    const ends = [
      this.#options.cluster.onClusterChange((change) => {
        const announcement = this.#unsure.joined(change, endpointsAffectedBy(change))
        if (announcement.services.length > 0 || announcement.accounts.length > 0) listener(announcement)
      }),
      this.#options.subscribe(({ snapshot, changed }) => {
        const services = changed.flatMap((key) => {
          const [kind, namespace = '', name = ''] = key.split('/')
          return kind === 'ServiceImport' || kind === 'GlobalTrafficPolicy' ? [{ namespace, name }] : []
        })
        const versions = [...(before === undefined ? [] : [before]), snapshot]
        before = snapshot
        if (services.length === 0) return
        const accounts = services.flatMap((service) =>
          versions.flatMap((version) => importedAccounts(version, service)),
        )
        listener({ services: sortedNames(services), accounts: sortedNames(accounts) })
      }),
    ]
    return () => {
      for (const end of ends) end()
    }
  }

  #find({ namespace, name }: MeshService): Query | undefined {
    const scope = this.#options.cluster.namespace(namespace)
    if (scope === undefined) return undefined
    const service = scope.service(name)
    if (service !== undefined) return { scope, service, hostname: undefined }
    const dot = name.lastIndexOf('.')
    const parent = dot === -1 ? undefined : scope.service(name.slice(dot + 1))
    return parent === undefined ? undefined : { scope, service: parent, hostname: name.slice(0, dot) }
  }

  #servicesOf(account: ServiceAccountRef): readonly MeshService[] {
    const scope = this.#options.cluster.namespace(account.namespace)
    const snapshot = this.#options.current()
    return sortedNames([
      ...(scope === undefined ? [] : servicesOfAccount(scope, account.name)),
      ...(snapshot === undefined ? [] : importedServices(snapshot, account)),
    ])
  }

  #imported(service: MeshService): readonly Endpoint[] {
    const snapshot = this.#options.current()
    return snapshot === undefined ? [] : importedEndpoints(snapshot, service)
  }

  #answer<T>(about: 'services' | 'accounts', name: MeshService, items: readonly T[]): Answer<T> {
    const { cluster } = this.#options
    const { namespace } = name
    if (cluster.namespace(namespace) === undefined) {
      if (!cluster.isEnrolled(namespace)) return known(items)
      this.#unsure.note(about, name)
      const message = `namespace ${namespace} has just been enrolled; its endpoints have not been read yet`
      return { state: 'unknown', items: [], conditions: [condition('OSM_ENDPOINTS_UNKNOWN', message)] }
    }
    const reason = cluster.staleness(namespace)
    if (reason === undefined) return known(items)
    this.#unsure.note(about, name)
    const message = `endpoints of namespace ${namespace} cannot be followed: ${reason}; what was known last stays in force`
    return { state: 'stale', items, conditions: [condition('OSM_ENDPOINTS_PROVIDER_FAILED', message)] }
  }
}

function condition(code: EndpointsErrorCode, message: string): Problem {
  return { code, severity: 'warning', message }
}

/** What takes traffic: for each port the endpoints that are ready or, while there is none, those that end but still serve. */
function endpointsOf({ scope, service, hostname }: Query): readonly Endpoint[] {
  const { namespace, name } = service.metadata
  const slices = scope.slicesOf(name)
  const pods = new PodFinder(scope)
  return dialledPorts(service).flatMap(({ name: portName = '', port: servicePort }) => {
    const found = slices.flatMap(({ ports, endpoints }) => {
      const port = ports.find((candidate) => candidate.name === portName)?.port
      if (port === undefined) return []
      return endpoints
        .filter((endpoint) => hostname === undefined || endpoint.hostname === hostname)
        .map((endpoint) => ({ endpoint, port }))
    })
    const ready = found.filter(({ endpoint }) => endpoint.state === 'ready')
    const taking = ready.length > 0 ? ready : found.filter(({ endpoint }) => endpoint.state === 'draining')
    return taking.flatMap(({ endpoint, port }) =>
      endpoint.addresses.flatMap((address): readonly Endpoint[] => {
        const pod = pods.find(endpoint, address)
        const unsure = pod === undefined ? endpoint.pod !== undefined : pod.instance === undefined && pod.awaited
        if (unsure) return []
        return [
          {
            address,
            port,
            servicePort,
            targetPort: port,
            weight: 100,
            priority: 0,
            account: pod && { namespace, name: podAccount(pod) },
            sidecar: sidecarOf(pod),
            hostname: endpoint.hostname,
            locality: localityOf(pod && podLabels(pod), endpoint.zone),
            cluster: '',
          },
        ]
      }),
    )
  })
}

/** Accounts of everything behind the service, whether or not it takes traffic now: what does not may soon. */
function accountsBehind(
  { scope, service, hostname }: Query,
  pods = new PodFinder(scope),
): readonly ServiceAccountRef[] {
  const { namespace, name } = service.metadata
  const found = scope
    .slicesOf(name)
    .flatMap(({ endpoints }) => endpoints)
    .filter((endpoint) => hostname === undefined || endpoint.hostname === hostname)
    .flatMap((endpoint) => pods.find(endpoint, endpoint.addresses[0]) ?? [])
  return found.map((pod) => ({ namespace, name: podAccount(pod) }))
}

/** Services that select a pod of the account, or list one by hand. */
function servicesOfAccount(scope: NamespaceScope, account: string): readonly MeshService[] {
  const pods = scope.podsOf(account)
  if (pods.length === 0) return []
  const finder = new PodFinder(scope)
  const listed = scope
    .servicesWithoutSelector()
    .filter((service) =>
      accountsBehind({ scope, service, hostname: undefined }, finder).some(({ name }) => name === account),
    )
  return sortedNames([
    ...servicesOfPods(scope, pods),
    ...listed.map(({ metadata: { namespace, name } }) => ({ namespace, name })),
  ])
}

/** Finds the pods behind endpoints of a namespace. Made for one question: pods come and go. */
class PodFinder {
  readonly #scope: NamespaceScope
  #byAddress: ReadonlyMap<string, PodItem> | undefined

  constructor(scope: NamespaceScope) {
    this.#scope = scope
  }

  /**
   * The pod that a slice names. Slices written by hand often name none: then it is the pod with that address. A pod is behind its own addresses only:
   * anyone who may write slices could otherwise claim an address of somebody else for his own pod.
   */
  find({ pod }: SliceEndpoint, address: string | undefined): PodItem | undefined {
    if (pod !== undefined) {
      const named = this.#scope.pod(pod)
      const isOwn = address === undefined || named === undefined || podAddresses(named).includes(address)
      return isOwn ? named : undefined
    }
    this.#byAddress ??= new Map(
      this.#scope.pods().flatMap((item) => podAddresses(item).map((own) => [own, item] as const)),
    )
    return address === undefined ? undefined : this.#byAddress.get(address)
  }
}

function sidecarOf(pod: PodItem | undefined): EndpointSidecar | undefined {
  const spec = pod?.instance?.spec
  return spec && { uuid: spec.uuid, class: spec.sidecarClass, mode: spec.mode }
}
