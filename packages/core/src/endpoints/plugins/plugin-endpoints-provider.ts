import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import { Listeners } from '@osm-ts/driver-api/toolkit'
import type { ProviderAnswer, ResourceRef, ResourceStatus } from '@osm-ts/endpoints-api'

import { nameKey } from '../../namespaced-name.js'
import type { Problem } from '../../problem.js'
import type { Snapshot, SnapshotUpdate } from '../../snapshot/snapshot.js'
import { dialledPorts, type DialledPort } from '../../spec/dialled-ports.js'
import type { KindMap } from '../../spec/objects.js'
import {
  known,
  sortedNames,
  uniqueEndpoints,
  type Answer,
  type Endpoint,
  type EndpointsAnnouncement,
  type EndpointsProvider,
} from '../endpoint.js'
import type { AddressRules } from './address-rules.js'
import {
  checkAnswer,
  MAX_INSTANCES,
  MAX_INSTANCES_OF_SERVICE,
  type AnswerFault,
  type CheckedInstance,
  type CheckedService,
} from './check-answer.js'
import { resourceKey } from './provider-resources.js'
import { checkedStatus } from './checked-status.js'
import { ServiceAddresses } from './service-addresses.js'

/** What a provider is made with. */
export interface PluginEndpointsOptions {
  /** Name of the plug-in. */
  readonly id: string
  readonly rules: AddressRules
  readonly current: () => Snapshot
  readonly subscribe: (listener: (update: SnapshotUpdate) => void) => () => void
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Services in an answer. */
  readonly maxServices?: number
}

/** How a provider is. */
export interface PluginProviderState {
  readonly id: string
  /** `starting`: it has not published yet. */
  readonly state: 'starting' | 'ok' | 'failing'
  /** Why it fails. */
  readonly reason?: string
  /** When it published last, in milliseconds since 1970. */
  readonly publishedAt?: number
  readonly services: number
  readonly instances: number
  /** What it published and is not used. */
  readonly faults: readonly AnswerFault[]
  /** What it found out about its objects. */
  readonly resources: readonly (ResourceRef & ResourceStatus)[]
}

/** Objects of a provider whose status is kept. */
const MAX_RESOURCES = 10_000

/**
 * Endpoints that a plug-in knows: its instances, joined with the ports of the Services that they are behind.
 *
 * The last good answer stays in force while the plug-in fails, and counts as stale meanwhile. Whatever it publishes is checked first.
 */
export class PluginEndpointsProvider implements EndpointsProvider {
  readonly id: string
  readonly #options: PluginEndpointsOptions
  readonly #announcements = new Listeners<EndpointsAnnouncement>()
  readonly #changes = new Listeners()
  readonly #serviceAddresses = new ServiceAddresses()
  #services: ReadonlyMap<string, CheckedService> = new Map()
  #faults: readonly AnswerFault[] = []
  #failure: string | undefined
  /** Services from before a restart that have not been found since. */
  #restored: ReadonlyMap<string, CheckedService> = new Map()
  readonly #statuses = new Map<string, ResourceRef & ResourceStatus>()
  #publishedAt: number | undefined

  constructor(options: PluginEndpointsOptions) {
    this.id = options.id
    this.#options = options
  }

  /** Takes in an answer of the plug-in. One that is invalid as a whole is a failure of the plug-in, and gives false. */
  publish(value: unknown): boolean {
    const { answer, faults } = checkAnswer(value, this.#options.rules, this.#services, this.#options.maxServices)
    this.#faults = faults
    if (answer === undefined) {
      this.fail(faults[0]?.message ?? 'the answer is invalid')
      return false
    }
    const before = this.#services
    const wasStale = this.#restored.size > 0 || this.#failure !== undefined
    this.#services = this.#withRestored(answer.services)
    this.#failure = undefined
    this.#publishedAt = this.#options.now()
    const changed = wasStale
      ? [...before.values(), ...this.#services.values()]
      : changedServices(before, this.#services)
    this.#announce(changed, before)
    return true
  }

  /** Takes in an answer from before a restart. It counts as stale until the plug-in answers. One that is invalid is left out. */
  restore(value: unknown): void {
    if (this.#publishedAt !== undefined) return
    const { answer } = checkAnswer(value, this.#options.rules, this.#services, this.#options.maxServices)
    if (answer === undefined) return
    this.#services = answer.services
    this.#restored = answer.services
    this.#announce([...answer.services.values()])
  }

  /** What is in force, in the form in which a plug-in publishes. */
  inForce(): ProviderAnswer {
    const services = [...this.#services.values()].map(({ service, instances, stale }) => ({
      service,
      instances: instances.map(({ address, ...instance }) => ({ ...instance, addresses: [address] })),
      ...(stale !== undefined && { stale }),
    }))
    return { services }
  }

  /**
   * Keeps instances from before a restart: a plug-in that has started again has no last good instances of what it cannot find. They stay beside those that
   * it finds until it knows all of the service.
   */
  #withRestored(services: ReadonlyMap<string, CheckedService>): ReadonlyMap<string, CheckedService> {
    const kept = [...this.#restored].filter(([key]) => services.get(key)?.stale !== undefined)
    this.#restored = new Map(kept)
    const all = new Map(services)
    let room = MAX_INSTANCES - [...services.values()].reduce((sum, { instances }) => sum + instances.length, 0)
    for (const [key, { instances }] of kept) {
      const found = services.get(key)
      if (found === undefined) continue
      const ids = new Set(found.instances.map(({ id }) => id))
      const most = Math.min(room, MAX_INSTANCES_OF_SERVICE - found.instances.length)
      const lost = instances.filter(({ id }) => !ids.has(id)).slice(0, most)
      room -= lost.length
      all.set(key, { ...found, instances: [...found.instances, ...lost] })
    }
    return all
  }

  /** Notes that the plug-in works again. Its last answer counts as known. */
  recover(): void {
    if (this.#failure === undefined) return
    this.#failure = undefined
    this.#announce([...this.#services.values()])
  }

  /** Notes that the plug-in fails, with the reason. Its last answer counts as stale. */
  fail(reason: string): void {
    const wasFailing = this.#failure !== undefined
    this.#failure = reason.slice(0, 1_024)
    this.#announce(wasFailing ? [] : [...this.#services.values()])
  }

  /** Notes that the process of the plug-in has ended, with the reason. Its last answer stands in for what the next process cannot find. */
  ended(reason: string): void {
    this.#restored = this.#services
    this.fail(reason)
  }

  /** Takes in what the plug-in found out about one of its objects; undefined forgets it. */
  reportStatus({ kind, namespace, name }: ResourceRef, value: unknown): void {
    const key = resourceKey({ kind, namespace, name })
    const status = checkedStatus(value)
    if (status === undefined) this.#statuses.delete(key)
    else if (this.#statuses.has(key) || this.#statuses.size < MAX_RESOURCES)
      this.#statuses.set(key, { kind, namespace, name, ...status })
    this.#changes.notify()
  }

  /** How the provider is now. */
  state(): PluginProviderState {
    const services = [...this.#services.values()]
    const state = this.#failure !== undefined ? 'failing' : this.#publishedAt === undefined ? 'starting' : 'ok'
    return {
      id: this.id,
      state,
      ...(this.#failure !== undefined && { reason: this.#failure }),
      ...(this.#publishedAt !== undefined && { publishedAt: this.#publishedAt }),
      services: services.length,
      instances: services.reduce((sum, { instances }) => sum + instances.length, 0),
      faults: [...this.#faults, ...this.#serviceAddressFaults(services)],
      resources: [...this.#statuses.values()],
    }
  }

  /** Calls the listener when {@link state} may have another result. The result ends it. */
  onStateChange(listener: () => void): () => void {
    return this.#changes.add(listener)
  }

  listEndpointsForService(service: MeshService): Answer<Endpoint> {
    return this.#answer(this.#services.get(nameKey(service)), uniqueEndpoints(this.#endpoints(service)))
  }

  listIdentitiesForService(service: MeshService): Answer<ServiceAccountRef> {
    const found = this.#services.get(nameKey(service))
    return this.#answer(found, found === undefined ? [] : accountsOf(found))
  }

  listServicesForIdentity(account: ServiceAccountRef): Answer<MeshService> {
    return known(sortedNames(this.#servicesOf(account).map(({ service }) => service)))
  }

  listEndpointsForIdentity(account: ServiceAccountRef): Answer<Endpoint> {
    const endpoints = this.#servicesOf(account).flatMap(({ service }) => this.#endpoints(service))
    return known(uniqueEndpoints(endpoints.filter((it) => it.account?.name === account.name)))
  }

  announcements(listener: (announcement: EndpointsAnnouncement) => void): () => void {
    const ends = [
      this.#announcements.add(listener),
      this.#options.subscribe(({ changed }) => {
        // An address of another Service may be refused from now on, or no longer.
        if (!changed.some((key) => key.startsWith('Service/'))) return
        this.#announce([...this.#services.values()])
      }),
    ]
    return () => {
      for (const end of ends) end()
    }
  }

  #servicesOf({ namespace, name }: ServiceAccountRef): readonly CheckedService[] {
    return [...this.#services.values()].filter(
      ({ service, instances }) =>
        service.namespace === namespace && instances.some(({ serviceAccount }) => serviceAccount === name),
    )
  }

  #endpoints(service: MeshService): readonly Endpoint[] {
    const snapshot = this.#options.current()
    const object = snapshot.get('Service', service.namespace, service.name)
    const found = this.#services.get(nameKey(service))
    if (object === undefined || found === undefined) return []
    const evenUnready = object.spec.publishNotReadyAddresses === true
    const taking = found.instances.filter(
      (instance) => (instance.ready || evenUnready) && this.#serviceAddressOf(snapshot, instance) === undefined,
    )
    return dialledPorts(object).flatMap((port) =>
      taking.flatMap((instance) => endpointOf(object, port, instance) ?? []),
    )
  }

  /** Addresses of Services lead back into the mesh, so that they are refused too. They are known only here, and change. */
  #serviceAddressFaults(services: readonly CheckedService[]): readonly AnswerFault[] {
    const snapshot = this.#options.current()
    return services.flatMap(({ service, instances }) =>
      instances.flatMap((instance): readonly AnswerFault[] => {
        const { id, address: own } = instance
        const address = this.#serviceAddressOf(snapshot, instance)
        if (address === undefined) return []
        const message = `address ${address} of ${id} is that of a Service; it is not used`
        const fault = { code: 'OSM_ENDPOINTS_ADDRESS', message, service, instance: id } as const
        return [address === own ? fault : { ...fault, ofGateway: true }]
      }),
    )
  }

  #serviceAddressOf(snapshot: Snapshot, { address, network }: CheckedInstance): string | undefined {
    const dialled = [address, ...(network?.gateway === undefined ? [] : [network.gateway.address])]
    return dialled.find((each) => this.#serviceAddresses.has(snapshot, each))
  }

  #answer<T>(service: CheckedService | undefined, items: readonly T[]): Answer<T> {
    const restored = this.#publishedAt === undefined ? 'it has not answered since the controller started' : undefined
    const reason = service && (this.#failure ?? restored ?? service.stale)
    if (reason === undefined) return known(items)
    const message = `endpoints of provider ${this.id} may be outdated: ${reason}; its last answer stays in force`
    const condition: Problem = { code: 'OSM_ENDPOINTS_PROVIDER_FAILED', severity: 'warning', message }
    return { state: 'stale', items, conditions: [condition] }
  }

  #announce(services: readonly CheckedService[], before?: ReadonlyMap<string, CheckedService>): void {
    if (services.length > 0)
      this.#announcements.notify({
        services: sortedNames(services.map(({ service }) => service)),
        accounts: sortedNames(
          services.flatMap((it) => [it, before?.get(nameKey(it.service)) ?? it]).flatMap(accountsOf),
        ),
      })
    this.#changes.notify()
  }
}

function changedServices(
  before: ReadonlyMap<string, CheckedService>,
  after: ReadonlyMap<string, CheckedService>,
): readonly CheckedService[] {
  // Answers are plain data in the order of the contract, which the check has rebuilt.
  const isSame = (key: string): boolean => JSON.stringify(before.get(key)) === JSON.stringify(after.get(key))
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((key) => !isSame(key))
    .flatMap((key) => after.get(key) ?? before.get(key) ?? [])
}

function accountsOf({ service: { namespace }, instances }: CheckedService): readonly ServiceAccountRef[] {
  return sortedNames(instances.flatMap(({ serviceAccount: name }) => (name === undefined ? [] : [{ namespace, name }])))
}

function endpointOf(
  { metadata: { namespace } }: KindMap['Service'],
  port: DialledPort,
  { address, ports, serviceAccount, sidecar, locality, weight, network }: CheckedInstance,
): Endpoint | undefined {
  const named = (name: unknown): number | undefined => ports.find((it) => it.name === name)?.port
  const target = port.targetPort ?? port.port
  const targetPort = named(port.name ?? '') ?? (typeof target === 'number' ? target : named(target))
  if (targetPort === undefined) return undefined
  return {
    address,
    port: targetPort,
    servicePort: port.port,
    targetPort,
    weight,
    priority: 0,
    account: serviceAccount === undefined ? undefined : { namespace, name: serviceAccount },
    sidecar: sidecar && { uuid: '', class: sidecar.class ?? '', mode: 'transparent' },
    hostname: undefined,
    locality,
    cluster: '',
    isAddressWritten: true,
    ...(network !== undefined && { network }),
  }
}
