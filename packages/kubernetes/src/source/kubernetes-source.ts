import type { DriverMetrics, Logger } from '@osm-ts/driver-api'
import {
  type Clock,
  isReadInControlPlane,
  type Kind,
  kindDefinitions,
  makeObjectKey,
  type MeshObject,
  ObjectDecoder,
  type ObjectKey,
  type ObjectOrigin,
  type ObjectSource,
  PatternChecker,
  pause,
  type Problem,
  type Random,
  type SourceChange,
} from '@osm-ts/core'
import { deferred, errorMessage, Listeners } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi, ResourceType } from '../api.js'
import { createInformer } from '../informer.js'
import type { ClusterChange, ClusterView } from './cluster-view.js'
import { Discovery } from './discovery.js'
import type { SourceErrorCode } from '../error-codes.js'
import { followedKinds } from './followed-kinds.js'
import { editOf, HeldObjects, instanceEdit, type HeldEdit } from './held-objects.js'
import { joinedSignal, type InformerFactory } from './informer-factory.js'
import { Deduplicator } from './deduplicator.js'
import { KindFollower, type KindChange } from './kind-follower.js'
import { MonitoredNamespaces } from './monitored-namespaces.js'
import type { Freshness, NamespaceChange, NamespaceScope } from './namespace-scope.js'
import { podName, PodReader, type PodItem } from './pod.js'
import { ProbeBindingsReader } from './probe-annotation.js'
import { Staleness } from './staleness.js'
import { strayRetries } from './stray-retries.js'
import type { ObjectFacts, WrittenObject } from './written-object.js'

/** What a {@link KubernetesSource} reads, and by which names. */
export interface KubernetesSourceOptions {
  readonly api: KubernetesApi
  readonly meshName: string
  /** Namespace of the control plane. */
  readonly osmNamespace: string
  /** Name of the MeshConfig; osm-mesh-config when absent. */
  readonly configName?: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics?: DriverMetrics
}

/** An object as the API server holds it, for those who write its status. */
export interface ServedObject {
  readonly type: ResourceType
  /** True if the API server lets its status be written. */
  readonly hasStatus: boolean
  readonly facts: ObjectFacts
  /** Absent if it cannot be used. */
  readonly object?: MeshObject | undefined
}

/** How often it is looked whether the API server can be reached, in milliseconds. */
const STALENESS_LOOK_MS = 2_000

/**
 * A cluster as a source of objects: what one mesh reads of it.
 *
 * Of namespaced kinds that every cluster has (pods, services, accounts, slices) nothing is read outside the namespaces of
 * the mesh; custom resources are followed by kind, and count where their namespace does. A namespace comes and goes as a
 * whole: its objects are told of in the one change that brings or takes it.
 */
export class KubernetesSource implements ObjectSource, ClusterView {
  readonly name = 'kubernetes'
  readonly #options: KubernetesSourceOptions
  readonly #held = new HeldObjects()
  readonly #namespaces: MonitoredNamespaces
  readonly #kinds: ReadonlyMap<string, { readonly follower: KindFollower; readonly inControlPlane: boolean }>
  readonly #staleness = new Staleness()
  readonly #changes: Listeners<SourceChange>
  readonly #written: Listeners<ObjectKey>
  readonly #clusterChanges: Listeners<ClusterChange>
  #strays: ReadonlySet<ObjectKey> = new Set()
  #started = false
  #loaded = false
  #finished: Promise<void> = Promise.resolve()

  constructor(options: KubernetesSourceOptions) {
    const { api, meshName, osmNamespace, configName = 'osm-mesh-config', clock, random, logger, metrics } = options
    const informers: InformerFactory = (informer) =>
      createInformer({ ...informer, api, clock, random, logger, ...(metrics === undefined ? {} : { metrics }) })
    const decoder = new ObjectDecoder('user', new PatternChecker())
    const deduplicator = new Deduplicator()
    const onFault = (error: unknown): void => {
      logger.error({ reason: reasonOf(error) }, 'a listener of the cluster failed')
    }
    this.#options = options
    this.#changes = new Listeners(onFault)
    this.#written = new Listeners(onFault)
    this.#clusterChanges = new Listeners(onFault)
    this.#namespaces = new MonitoredNamespaces({
      rule: { meshName, osmNamespace },
      informers,
      decoder,
      deduplicator,
      pods: new PodReader(deduplicator, new ProbeBindingsReader()),
      listener: {
        joined: (scope, namespace) => this.#join(scope, namespace),
        relabelled: (namespace) => this.#publish(this.#held.apply([editOf(namespace)])),
        left: (scope) => this.#leave(scope),
        changed: (scope, change) => this.#changed(scope, change),
      },
      onFault: (error) => {
        logger.error({ reason: reasonOf(error) }, 'a namespace cannot be followed')
      },
    })
    const discovery = new Discovery(api)
    this.#kinds = new Map(
      followedKinds(osmNamespace, configName).map(({ kind, selection, inControlPlane }) => {
        const follower: KindFollower = new KindFollower({
          kind,
          selection,
          discovery,
          informers,
          decoder,
          clock,
          random,
          logger,
          onChange: (changes) => this.#kindChanged(kind, changes, inControlPlane),
          onPresence: () => this.#publish(this.#held.setGeneral(this.#general())),
        })
        return [kind, { follower, inControlPlane }]
      }),
    )
  }

  async start(signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error(`source ${this.name} was started twice`)
    this.#started = true
    const scope = joinedSignal(signal)
    const kinds = [...this.#kinds.values()].map(({ follower }) => {
      const { promise, resolve } = deferred<undefined>()
      return { first: promise, run: follower.run(scope, () => resolve(undefined)) }
    })
    this.#finished = Promise.all([...kinds.map(({ run }) => run), this.#watchStaleness(scope)]).then(() => undefined)
    await Promise.all([
      this.#namespaces.start(scope),
      // A follower that ends without its first list has ended with the signal.
      ...kinds.map(({ first, run }) => Promise.race([first, run])),
    ])
    signal.throwIfAborted()
    this.#held.setGeneral(this.#general())
    this.#loaded = true
  }

  /** Resolves when the source has stopped after its signal aborted. */
  finished(): Promise<void> {
    return this.#finished
  }

  subscribe(listener: (change: SourceChange) => void): () => void {
    return this.#changes.add(listener)
  }

  problems(): readonly Problem[] {
    return this.#held.problems()
  }

  objects(): readonly MeshObject[] {
    return this.#held.objects()
  }

  locate(key: ObjectKey): ObjectOrigin | undefined {
    return this.#held.get(key)?.origin
  }

  /** How the API server holds an object of a custom kind; undefined if it doesn't, or if the object is not of this mesh. */
  served(key: ObjectKey): ServedObject | undefined {
    const [kind = '', namespace = '', name = ''] = key.split('/')
    const followed = this.#kinds.get(kind)
    const { facts, object } = followed?.follower.get(namespace, name) ?? {}
    const served = followed?.follower.served
    if (followed === undefined || facts === undefined || served === undefined) return undefined
    if (!followed.inControlPlane && !this.#isOurs(followed.follower.kind, namespace) && !this.#strays.has(key))
      return undefined
    return { type: served.type, hasStatus: served.hasStatus, facts, object }
  }

  /** Keys of all objects of custom kinds of this mesh, those that can't be used among them. */
  servedKeys(): readonly ObjectKey[] {
    return [...this.#kinds.values()].flatMap(({ follower, inControlPlane }) =>
      follower
        .list()
        .filter(
          ({ namespace, key }) => inControlPlane || this.#isOurs(follower.kind, namespace) || this.#strays.has(key),
        )
        .map(({ key }) => key),
    )
  }

  /** Calls the listener for every object of a custom kind that was written in any way, its status included. The result ends it. */
  onWritten(listener: (key: ObjectKey) => void): () => void {
    return this.#written.add(listener)
  }

  namespace(name: string): NamespaceScope | undefined {
    return this.#namespaces.get(name)
  }

  isEnrolled(name: string): boolean {
    return this.#namespaces.isEnrolled(name)
  }

  namespaces(): readonly NamespaceScope[] {
    return this.#namespaces.joined()
  }

  staleness(name: string): string | undefined {
    return this.#staleness.of(namespaceCopy(name)) ?? this.#staleness.of(NAMESPACES_COPY)
  }

  onClusterChange(listener: (change: ClusterChange) => void): () => void {
    return this.#clusterChanges.add(listener)
  }

  #join(scope: NamespaceScope, namespace: WrittenObject): void {
    const { written, pods } = scope.objects()
    const custom = [...this.#kinds.values()].flatMap(({ follower, inControlPlane }) =>
      inControlPlane ? [] : follower.inNamespace(scope.namespace),
    )
    const edits = [namespace, ...written, ...custom].map(editOf)
    this.#publish(this.#held.apply([...edits, ...pods.map((pod) => podEdit(scope.namespace, podName(pod), pod))]))
    for (const { key } of custom) this.#tellWritten(key)
    this.#tellStrays()
    this.#clusterChanges.notify({ of: 'namespace', scope })
  }

  #leave(scope: NamespaceScope): void {
    const keys = this.#held.keysOf(scope.namespace)
    this.#publish(this.#held.apply([], keys))
    for (const key of keys) this.#tellWritten(key)
    this.#tellStrays()
    this.#clusterChanges.notify({ of: 'namespace', scope })
  }

  #changed(scope: NamespaceScope, change: NamespaceChange): void {
    if (change.of === 'services' || change.of === 'accounts') this.#apply(change.changes)
    if (change.of === 'pods') {
      const edits = change.changes.map(({ name, after }) => podEdit(scope.namespace, name.name, after))
      this.#publish(this.#held.apply(edits))
    }
    this.#clusterChanges.notify({ of: 'content', scope, change })
  }

  /** True for objects of namespaces that have joined, and for those of the control plane that concern them. */
  #isOurs(kind: Kind, namespace: string): boolean {
    return (
      this.namespace(namespace) !== undefined ||
      (namespace === this.#options.osmNamespace && isReadInControlPlane(kind))
    )
  }

  #kindChanged(kind: Kind, changes: readonly KindChange[], inControlPlane: boolean): void {
    const ours = changes.filter(({ before, after }) => {
      const { namespace = '' } = after ?? before ?? {}
      return inControlPlane || this.#isOurs(kind, namespace)
    })
    this.#apply(ours)
    for (const { before, after } of ours) {
      const key = (after ?? before)?.key
      if (key !== undefined) this.#tellWritten(key)
    }
    if (kind === 'Retry' && ours.length < changes.length) this.#tellStrays()
  }

  /**
   * Finds Retries outside the mesh whose source is in it. They have no effect, and their authors look for one: the guides of OSM name no namespace, so
   * that the object comes to be in `default`.
   */
  #tellStrays(): void {
    const strays = strayRetries(this.#kinds.get('Retry')?.follower.list() ?? [], (namespace) =>
      this.#isOurs('Retry', namespace),
    )
    const wanted = new Map(strays.map((edit) => [edit.key, edit]))
    const gone = [...this.#strays].filter((key) => !wanted.has(key) && !this.#isOurs('Retry', key.split('/')[1] ?? ''))
    const changed = [...wanted.keys()].filter((key) => !this.#strays.has(key))
    this.#strays = new Set(wanted.keys())
    this.#publish(this.#held.apply(strays, gone))
    for (const key of [...gone, ...changed]) this.#tellWritten(key)
  }

  #apply(changes: readonly { readonly before?: WrittenObject; readonly after?: WrittenObject }[]): void {
    const edits = changes.flatMap(({ after }) => (after === undefined ? [] : [editOf(after)]))
    const removals = changes.flatMap(({ before, after }) =>
      before !== undefined && after === undefined ? [before.key] : [],
    )
    this.#publish(this.#held.apply(edits, removals))
  }

  #publish(change: SourceChange | undefined): void {
    if (change !== undefined && this.#loaded) this.#changes.notify(change)
  }

  #tellWritten(key: ObjectKey): void {
    if (this.#loaded) this.#written.notify(key)
  }

  /** Problems that are of no object. */
  #general(): readonly Problem[] {
    const missing = [...this.#kinds.values()].filter(
      ({ follower }) => follower.missing && !kindDefinitions[follower.kind].foreign,
    )
    return [...missing.map(({ follower }) => missingKind(follower)), ...this.#staleness.problems()]
  }

  async #watchStaleness(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(this.#options.clock, STALENESS_LOOK_MS, signal)
      const turned = this.#staleness.look(this.#copies())
      if (turned.size === 0) continue
      this.#publish(this.#held.setGeneral(this.#general()))
      const all = turned.has(NAMESPACES_COPY)
      for (const scope of this.namespaces())
        if (all || turned.has(namespaceCopy(scope.namespace))) this.#clusterChanges.notify({ of: 'namespace', scope })
    }
  }

  #copies(): ReadonlyMap<string, Freshness> {
    return new Map<string, Freshness>([
      [NAMESPACES_COPY, this.#namespaces.freshness()],
      ...this.namespaces().map((scope) => [namespaceCopy(scope.namespace), scope.freshness()] as const),
      ...[...this.#kinds].map(([kind, { follower }]) => [kind, follower.freshness()] as const),
    ])
  }
}

/** How staleness calls what is followed. */
const NAMESPACES_COPY = 'namespaces'
const namespaceCopy = (name: string): string => `namespace ${name}`

function podEdit(namespace: string, name: string, pod: PodItem | undefined): HeldEdit {
  return instanceEdit(makeObjectKey('WorkloadInstance', namespace, name), pod?.instance, pod?.problems ?? [])
}

function missingKind({ kind }: KindFollower): Problem {
  const code: SourceErrorCode = 'OSM_SOURCE_KIND_MISSING'
  const { apiVersion, plural } = kindDefinitions[kind]
  const crd = `${plural}.${apiVersion.slice(0, apiVersion.indexOf('/'))}`
  const message = `the API server does not serve ${kind} (CustomResourceDefinition ${crd}), so nothing of that kind has an effect; it is looked for again all the time`
  return { code, severity: 'warning', message }
}

function reasonOf(error: unknown): string {
  return errorMessage(error)
}
