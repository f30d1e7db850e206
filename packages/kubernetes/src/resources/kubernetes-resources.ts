import {
  type Clock,
  type OpenedResources,
  pause,
  type Problem,
  type Random,
  type ResourceStore,
  type StoredResource,
} from '@osm-ts/core'
import type { Logger } from '@osm-ts/driver-api'
import { backoffMs, errorMessage, Listeners } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi, KubernetesObject, ResourceType } from '../api.js'
import { createInformer } from '../informer.js'
import type { Informer } from '../informer-types.js'
import { isKubernetesError } from '../kubernetes-error.js'
import type { ClusterView } from '../source/cluster-view.js'
import { Discovery } from '../source/discovery.js'
import { followed, joinedSignal } from '../source/informer-factory.js'

type Kinds = Parameters<ResourceStore['open']>[0]
type Kind = Kinds[number]

/** What a {@link KubernetesResources} is made of. */
export interface KubernetesResourcesOptions {
  readonly api: KubernetesApi
  /** Decides which namespaces are of the mesh. */
  readonly cluster: Pick<ClusterView, 'isEnrolled' | 'onClusterChange'>
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** An object as the API server holds it, for those who write its status. */
export interface ServedResource {
  readonly type: ResourceType
  readonly uid: string
  readonly status: unknown
}

interface Held extends StoredResource {
  readonly uid: string
  readonly status: unknown
}

/** How soon a kind that the API server does not serve is looked for again, and how often it is looked whether one has gone, in milliseconds. */
const LOOK_MS = 5_000
const RETRY = { firstMs: 500, lastMs: 10_000 }

/**
 * Objects of the kinds of endpoints providers in a cluster. Of each kind one copy is followed, of which objects in namespaces of the mesh count. A kind may be installed
 * and removed at any time.
 */
export class KubernetesResources implements ResourceStore {
  readonly #options: KubernetesResourcesOptions
  readonly #discovery: Discovery
  readonly #followers = new Map<string, ResourceFollower>()
  readonly #written = new Listeners()

  constructor(options: KubernetesResourcesOptions) {
    this.#options = options
    this.#discovery = new Discovery(options.api)
  }

  async open(kinds: Kinds, signal: AbortSignal): Promise<OpenedResources> {
    const scope = joinedSignal(signal)
    const changes = new Listeners()
    const changed = (): void => {
      changes.notify()
      this.#written.notify()
    }
    const followers = kinds.map((kind) => new ResourceFollower(kind, this.#discovery, this.#options, changed))
    for (const follower of followers) this.#followers.set(follower.kind.kind, follower)
    const end = this.#options.cluster.onClusterChange((change) => {
      if (change.of === 'namespace') changed()
    })
    scope.addEventListener('abort', end, { once: true })
    await Promise.all(followers.map((follower) => follower.start(scope)))
    return {
      list: () =>
        followers.flatMap((follower) =>
          follower
            .list()
            .filter((held) => this.#isOurs(held))
            .map(stored),
        ),
      subscribe: (listener) => changes.add(listener),
    }
  }

  problems(): readonly Problem[] {
    return [...this.#followers.values()].flatMap((follower) => follower.problem() ?? [])
  }

  /** How the API server holds an object; undefined if it does not, or if the object is not of the mesh. */
  served(kind: string, namespace: string, name: string): ServedResource | undefined {
    const follower = this.#followers.get(kind)
    const held = follower?.get(namespace, name)
    if (follower === undefined || held === undefined || !this.#isOurs(held)) return undefined
    return { type: typeOf(follower.kind), uid: held.uid, status: held.status }
  }

  /** Calls the listener when any object was written, its status included. The result ends it. */
  onWritten(listener: () => void): () => void {
    return this.#written.add(listener)
  }

  #isOurs({ namespace }: StoredResource): boolean {
    return this.#options.cluster.isEnrolled(namespace)
  }
}

/** Follows the objects of one kind while the API server serves it. */
class ResourceFollower {
  readonly kind: Kind
  readonly #discovery: Discovery
  readonly #options: KubernetesResourcesOptions
  readonly #changed: () => void
  #informer: Informer<Held> | undefined
  #isMissing = false

  constructor(kind: Kind, discovery: Discovery, options: KubernetesResourcesOptions, changed: () => void) {
    this.kind = kind
    this.#discovery = discovery
    this.#options = options
    this.#changed = changed
  }

  /** Resolves when the objects are complete, or it is known that there are none. Follows them until the signal aborts. */
  async start(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      void this.#run(signal, resolve).then(resolve)
    })
  }

  list(): readonly Held[] {
    return this.#informer?.list() ?? []
  }

  get(namespace: string, name: string): Held | undefined {
    return this.#informer?.get({ namespace, name })
  }

  problem(): Problem | undefined {
    if (!this.#isMissing) return undefined
    const { group, version, kind, plural } = this.kind
    const message = `the API server does not serve ${kind} of ${group}/${version} (CustomResourceDefinition ${plural}.${group}), or not to osm-controller, so that its provider gets no objects; install the definition, and let osm-controller read it`
    return { code: 'OSM_ENDPOINTS_KIND_MISSING', severity: 'warning', message }
  }

  /** Never rejects: what fails is tried again. */
  async #run(signal: AbortSignal, onFirst: () => void): Promise<void> {
    const { clock, random } = this.#options
    let failures = 0
    while (!signal.aborted) {
      const end = new AbortController()
      try {
        const served = await this.#discovery.find(typeOf(this.kind), [this.kind.version], {}, signal)
        failures = 0
        this.#setMissing(served === undefined)
        if (served !== undefined) await this.#follow(joinedSignal(signal, end.signal), onFirst)
        else onFirst()
        await pause(clock, LOOK_MS * (0.8 + 0.4 * random()), signal)
      } catch (error) {
        failures += 1
        await this.#afterFailure(error, failures, signal, onFirst)
      } finally {
        end.abort()
      }
    }
  }

  async #afterFailure(error: unknown, failures: number, signal: AbortSignal, onFirst: () => void): Promise<void> {
    if (signal.aborted) return
    const { clock, random, logger } = this.#options
    // Without the permission the provider works from its settings alone. Nothing else may look like there being no objects: their endpoints would go.
    if (isKubernetesError(error) && error.status === 403) {
      this.#setMissing(true)
      onFirst()
    }
    logger.warn({ kind: this.kind.kind, reason: errorMessage(error) }, 'objects of a provider cannot be followed')
    await pause(clock, backoffMs(failures, RETRY, random), signal)
  }

  /** Follows until the kind has gone or the signal aborts. */
  async #follow(signal: AbortSignal, onFirst: () => void): Promise<void> {
    const { api, clock, random, logger } = this.#options
    const { kind, group } = this.kind
    const informer = createInformer<Held>({
      api,
      clock,
      random,
      logger,
      type: typeOf(this.kind),
      project: (object) => project(object, group, kind),
    })
    informer.subscribe(this.#changed)
    const first = followed(informer, signal).then((isComplete) => {
      if (!isComplete) return
      this.#informer = informer
      this.#changed()
      onFirst()
    })
    const gone = this.#untilGone(informer, signal)
    await Promise.race([gone, first.then(() => gone)])
    if (signal.aborted) return
    this.#informer = undefined
    this.#changed()
  }

  async #untilGone(informer: Informer<Held>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !isGone(informer)) await pause(this.#options.clock, LOOK_MS, signal)
  }

  #setMissing(isMissing: boolean): void {
    if (this.#isMissing === isMissing) return
    this.#isMissing = isMissing
    this.#changed()
  }
}

function typeOf({ group, version, kind, plural }: Kind): ResourceType {
  return { group, version, kind, plural, namespaced: true }
}

function project({ metadata, spec, status }: KubernetesObject, group: string, kind: string): Held {
  return {
    group,
    kind,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    labels: metadata.labels ?? {},
    generation: metadata.generation ?? 1,
    spec,
    origin: { kind: 'api', resourceVersion: metadata.resourceVersion ?? '' },
    uid: metadata.uid ?? '',
    status,
  }
}

function stored({ uid: _uid, status: _status, ...resource }: Held): StoredResource {
  return resource
}

/** True if the API server said that there is no such kind. */
function isGone(informer: Informer<Held>): boolean {
  const state = informer.state()
  const error = state.state === 'synced' ? undefined : state.error
  return isKubernetesError(error) && error.notFound
}
