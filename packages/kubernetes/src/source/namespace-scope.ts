import { ownValue } from '@osm-ts/driver-api/toolkit'
import { isOfKind, type Kind, type KindMap, type MeshObject, type ObjectDecoder } from '@osm-ts/core'

import type { Informer, InformerChange } from '../informer-types.js'
import { resourceTypes } from '../resource-types.js'
import { readSlice, type SliceItem } from './endpoint-slice.js'
import { followed, type InformerFactory } from './informer-factory.js'
import type { Deduplicator } from './deduplicator.js'
import { podAccount, samePod, type PodItem, type PodReader } from './pod.js'
import { readObject, sameWritten, type WrittenObject } from './written-object.js'

/** What a namespace is read with. */
export interface NamespaceScopeOptions {
  readonly namespace: string
  readonly informers: InformerFactory
  readonly decoder: ObjectDecoder
  readonly pods: PodReader
  readonly deduplicator: Deduplicator
  readonly onChange: (change: NamespaceChange) => void
}

/** What changed in a namespace that has been read. */
export type NamespaceChange =
  | { readonly of: 'services' | 'accounts'; readonly changes: readonly InformerChange<WrittenObject>[] }
  | { readonly of: 'pods'; readonly changes: readonly InformerChange<PodItem>[] }
  | { readonly of: 'slices'; readonly changes: readonly InformerChange<SliceItem>[] }

/** How sure a copy is. */
export type Freshness =
  { readonly state: 'unknown' | 'fresh' } | { readonly state: 'stale'; readonly since: number; readonly error: Error }

/**
 * One namespace of the mesh: its pods, services, service accounts and endpoint slices. Each is listed and watched for
 * this namespace alone, so that what lies in others is not even read.
 */
export class NamespaceScope {
  readonly namespace: string
  readonly #options: NamespaceScopeOptions
  readonly #services: Informer<WrittenObject>
  readonly #accounts: Informer<WrittenObject>
  readonly #pods: Informer<PodItem>
  readonly #slices: Informer<SliceItem>
  #synced = false

  constructor(options: NamespaceScopeOptions) {
    const { namespace, informers, pods, deduplicator } = options
    this.namespace = namespace
    this.#options = options
    this.#services = this.#objects('Service', { selector: selectorKeys })
    this.#accounts = this.#objects('ServiceAccount', {})
    this.#pods = podInformer(informers, pods, namespace)
    this.#slices = informers({
      type: resourceTypes.EndpointSlice,
      namespace,
      project: (raw) => readSlice(raw, deduplicator),
      indexes: { service: ({ service }) => [service] },
    })
  }

  /** Starts to follow the namespace. Resolves with true when all of it has been read once, and with false if the signal aborts before. */
  async start(signal: AbortSignal): Promise<boolean> {
    const { onChange } = this.#options
    const tell = (change: NamespaceChange): void => {
      if (this.#synced && !signal.aborted) onChange(change)
    }
    this.#services.subscribe((changes) => {
      tell({ of: 'services', changes })
    })
    this.#accounts.subscribe((changes) => {
      tell({ of: 'accounts', changes })
    })
    this.#pods.subscribe((changes) => {
      tell({ of: 'pods', changes })
    })
    this.#slices.subscribe((changes) => {
      tell({ of: 'slices', changes })
    })
    const complete = await Promise.all(this.#informers().map((informer) => followed(informer, signal)))
    this.#synced = complete.every(Boolean)
    return this.#synced
  }

  /** How sure the copy is: as sure as the least sure part of it. */
  freshness(): Freshness {
    if (!this.#synced) return { state: 'unknown' }
    for (const informer of this.#informers()) {
      const state = informer.state()
      if (state.state === 'stale') return state
    }
    return { state: 'fresh' }
  }

  /** Everything of the namespace that objects of the mesh are made from. */
  objects(): { readonly written: readonly WrittenObject[]; readonly pods: readonly PodItem[] } {
    return { written: [...this.#services.list(), ...this.#accounts.list()], pods: this.#pods.list() }
  }

  service(name: string): KindMap['Service'] | undefined {
    return serviceOf(this.#services.get({ namespace: this.namespace, name })?.object)
  }

  services(): readonly KindMap['Service'][] {
    return this.#services.list().flatMap(({ object }) => serviceOf(object) ?? [])
  }

  /** Services whose endpoints are listed by hand. */
  servicesWithoutSelector(): readonly KindMap['Service'][] {
    return this.#services.byIndex('selector', NO_SELECTOR).flatMap(({ object }) => serviceOf(object) ?? [])
  }

  /** Services whose selector matches the labels. */
  servicesSelecting(labels: Readonly<Record<string, string>>): readonly KindMap['Service'][] {
    return Object.entries(labels).flatMap(([key, value]) =>
      this.#services
        .byIndex('selector', `${key}=${value}`)
        .flatMap(({ object }) => serviceOf(object) ?? [])
        .filter(({ spec }) =>
          Object.entries(spec.selector ?? {}).every(([name, text]) => ownValue(labels, name) === text),
        ),
    )
  }

  slicesOf(service: string): readonly SliceItem[] {
    return this.#slices.byIndex('service', service)
  }

  pod(name: string): PodItem | undefined {
    return this.#pods.get({ namespace: this.namespace, name })
  }

  pods(): readonly PodItem[] {
    return this.#pods.list()
  }

  podsOf(account: string): readonly PodItem[] {
    return this.#pods.byIndex('account', account)
  }

  #informers(): readonly Informer<unknown>[] {
    return [this.#services, this.#accounts, this.#pods, this.#slices]
  }

  #objects(
    kind: 'Service' | 'ServiceAccount',
    indexes: Readonly<Record<string, (item: WrittenObject) => readonly string[]>>,
  ): Informer<WrittenObject> {
    const { namespace, informers, decoder } = this.#options
    const type = resourceTypes[kind satisfies Kind]
    return informers({
      type,
      namespace,
      project: (raw) => readObject(raw, { decoder, kind, type, labels: false, facts: false }),
      same: sameWritten,
      indexes,
    })
  }
}

/** Stands in the index of selectors for none: no pair is empty. */
const NO_SELECTOR = ''

/** Follows the pods of a namespace. */
export function podInformer(informers: InformerFactory, pods: PodReader, namespace: string): Informer<PodItem> {
  return informers({
    type: resourceTypes.Pod,
    namespace,
    project: (raw, before) => pods.read(raw, before),
    same: samePod,
    indexes: { account: (pod) => [podAccount(pod)] },
  })
}

function serviceOf(object: MeshObject | undefined): KindMap['Service'] | undefined {
  return object !== undefined && isOfKind(object, 'Service') ? object : undefined
}

/** One pair of the selector is enough to find a service by; the others are compared then. */
function selectorKeys({ object }: WrittenObject): readonly string[] {
  const [pair] = Object.entries(serviceOf(object)?.spec.selector ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  return [pair === undefined ? NO_SELECTOR : pair.join('=')]
}
