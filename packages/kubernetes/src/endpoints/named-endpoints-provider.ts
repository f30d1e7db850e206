import type { Logger, MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import {
  type Answer,
  type Clock,
  type Endpoint,
  type EndpointsAnnouncement,
  type EndpointsErrorCode,
  type EndpointsProvider,
  known,
  NAMED_SERVICES_IN_ALL,
  NAMED_SERVICES_PER_NAMESPACE,
  type NamedServices,
  nameKey,
  type Random,
  sortedNames,
  uniqueEndpoints,
  unknownLocality,
} from '@osm-ts/core'
import { Listeners } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi, KubernetesObject } from '../api.js'
import { NamedReflectors } from '../named-reflectors.js'
import type { ReflectorTarget, Relist } from '../reflector.js'
import { resourceTypes } from '../resource-types.js'
import { readSlice, serviceNameLabel, type SliceItem } from '../source/endpoint-slice.js'
import { Deduplicator } from '../source/deduplicator.js'

/** What a {@link NamedEndpointsProvider} needs. */
export interface NamedEndpointsOptions {
  readonly api: KubernetesApi
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Ends the following. */
  readonly signal: AbortSignal
}

/**
 * Endpoints of single Services in namespaces outside the mesh, as gateways are that an IngressBackend names. Of such a namespace nothing but the
 * EndpointSlices of those Services is asked for, by their label. Their endpoints are addresses only: they have neither an account nor a sidecar.
 */
export class NamedEndpointsProvider implements EndpointsProvider {
  readonly id = 'named-services'
  readonly #services = new Map<string, FollowedService>()
  readonly #reflectors: NamedReflectors<MeshService>
  readonly #listeners = new Listeners<EndpointsAnnouncement>()
  #beyond: ReadonlySet<string> = new Set()

  constructor({ logger, ...options }: NamedEndpointsOptions) {
    this.#reflectors = new NamedReflectors({
      ...options,
      watch: (service, isFollowed) => {
        const target = new FollowedService(service, {
          changed: () => {
            if (isFollowed()) this.#announce([service])
          },
          fault: (reason) => {
            logger.warn(
              { ...service, reason },
              'endpoints of a Service outside the mesh cannot be followed; trying again',
            )
          },
        })
        this.#services.set(nameKey(service), target)
        return {
          type: resourceTypes.EndpointSlice,
          selection: { namespace: service.namespace, labelSelector: `${serviceNameLabel}=${service.name}` },
          target,
        }
      },
    })
  }

  /** Follows these Services from now on, and no others. Of those beyond a bound it says why nothing is known. */
  follow({ read, beyond }: NamedServices): void {
    const before = this.#beyond
    this.#beyond = new Set(beyond.map(nameKey))
    const left = this.#reflectors.follow(read)
    for (const service of left) this.#services.delete(nameKey(service))
    this.#announce([...left, ...beyond.filter((service) => !before.has(nameKey(service)))])
  }

  /** Resolves when every Service that is followed now has been read, or after a few seconds: what is not known by then allows no caller until it is. */
  settled(signal: AbortSignal): Promise<void> {
    return this.#reflectors.settled(
      (service) => this.#services.get(nameKey(service))?.state.kind === 'read',
      (listener) => this.announcements(listener),
      signal,
    )
  }

  /** Resolves when nothing is followed any more, after the signal has aborted. */
  finished(): Promise<void> {
    return this.#reflectors.finished()
  }

  listEndpointsForService(service: MeshService): Answer<Endpoint> {
    const followed = this.#services.get(nameKey(service))
    if (followed === undefined) return this.#beyond.has(nameKey(service)) ? beyondBounds(service) : known([])
    const { state } = followed
    if (state.kind === 'read' && state.fault === undefined) return known(followed.endpoints())
    const reason = state.fault ?? 'they have not been read yet'
    const code: EndpointsErrorCode = state.kind === 'read' ? 'OSM_ENDPOINTS_PROVIDER_FAILED' : 'OSM_ENDPOINTS_UNKNOWN'
    const message = `endpoints of Service ${nameKey(service)} cannot be followed: ${reason}`
    const conditions = [{ code, severity: 'warning', message }] as const
    return state.kind === 'read'
      ? { state: 'stale', items: followed.endpoints(), conditions }
      : { state: 'unknown', items: [], conditions }
  }

  listIdentitiesForService(): Answer<ServiceAccountRef> {
    return known([])
  }

  listServicesForIdentity(): Answer<MeshService> {
    return known([])
  }

  listEndpointsForIdentity(): Answer<Endpoint> {
    return known([])
  }

  announcements(listener: (announcement: EndpointsAnnouncement) => void): () => void {
    return this.#listeners.add(listener)
  }

  #announce(services: readonly MeshService[]): void {
    if (services.length === 0) return
    this.#listeners.notify({ services: sortedNames(services), accounts: [] })
  }
}

function beyondBounds(service: MeshService): Answer<Endpoint> {
  const message = `endpoints of Service ${nameKey(service)} are not read: objects of one namespace may name ${NAMED_SERVICES_PER_NAMESPACE} Services outside the mesh, and those of all namespaces ${NAMED_SERVICES_IN_ALL}; name fewer, or their addresses by sources of kind IPRange`
  const code: EndpointsErrorCode = 'OSM_ENDPOINTS_UNKNOWN'
  return { state: 'unknown', items: [], conditions: [{ code, severity: 'warning', message }] }
}

type State = { readonly kind: 'unread' | 'read'; readonly fault?: string }

/** Who is told of a Service. */
interface ServiceListener {
  readonly changed: () => void
  /** Told once, until there is contact again. */
  readonly fault: (reason: string) => void
}

/** The slices of one Service. */
class FollowedService implements ReflectorTarget {
  state: State = { kind: 'unread' }
  readonly #service: MeshService
  readonly #listener: ServiceListener
  readonly #deduplicator = new Deduplicator()
  #slices = new Map<string, SliceItem>()

  constructor(service: MeshService, listener: ServiceListener) {
    this.#service = service
    this.#listener = listener
  }

  endpoints(): readonly Endpoint[] {
    const endpoints = [...this.#slices.values()].flatMap(({ ports, endpoints: found }) =>
      found
        // Who is about to end may still have calls to finish, and who is not ready yet makes none that a retry does not mend.
        .filter(({ state }) => state !== 'out')
        .flatMap(({ addresses }) => addresses.flatMap((address) => ports.map(({ port }) => endpointAt(address, port)))),
    )
    return uniqueEndpoints(endpoints)
  }

  relist(): Relist {
    const found = new Map<string, SliceItem>()
    return {
      add: (objects) => {
        for (const object of objects) this.#read(found, object)
      },
      commit: () => {
        this.#slices = found
        this.state = { kind: 'read' }
        this.#listener.changed()
      },
    }
  }

  change({ type, object }: Parameters<ReflectorTarget['change']>[0]): void {
    if (type === 'DELETED') this.#slices.delete(object.metadata.name)
    else this.#read(this.#slices, object)
    this.#listener.changed()
  }

  contact(): void {
    if (this.state.fault === undefined || this.state.kind === 'unread') return
    this.state = { kind: 'read' }
    this.#listener.changed()
  }

  /** What was read stays in force. */
  fault(error: Error): void {
    const isNew = this.state.fault === undefined
    this.state = { kind: this.state.kind, fault: error.message }
    if (!isNew) return
    this.#listener.fault(error.message)
    this.#listener.changed()
  }

  ended(): void {
    // No one counts these.
  }

  #read(into: Map<string, SliceItem>, object: KubernetesObject): void {
    const slice = readSlice(object, this.#deduplicator)
    if (slice?.service === this.#service.name) into.set(object.metadata.name, slice)
    else into.delete(object.metadata.name)
  }
}

function endpointAt(address: string, port: number): Endpoint {
  return {
    address,
    port,
    servicePort: port,
    targetPort: port,
    weight: 100,
    priority: 0,
    account: undefined,
    sidecar: undefined,
    hostname: undefined,
    locality: unknownLocality,
    cluster: '',
  }
}
