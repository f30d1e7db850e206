import {
  apiVersionOf,
  type KubernetesApi,
  KubernetesError,
  type KubernetesManifest,
  type KubernetesMetadata,
  type KubernetesObject,
  type ListPage,
  type ObjectName,
  type ResourceType,
  resourceTypes,
  type Selection,
  type WatchEvent,
  type WatchQuery,
} from '@osm-ts/kubernetes'

/** A request that a {@link MemoryCluster} was asked. */
export interface AskedRequest {
  readonly verb: 'get' | 'list' | 'create' | 'replace' | 'delete'
  readonly kind: string
  readonly name: string
}

type Watcher = (event: WatchEvent) => void

/** An API server in memory: what it stores, in which order it numbers changes, and when it refuses a write. */
export class MemoryCluster implements KubernetesApi {
  /** Requests in their order. */
  readonly asked: AskedRequest[] = []
  /** Called before a request is answered; what it throws is the answer, and the request has had no effect. */
  before: (request: AskedRequest) => void = () => undefined
  /** Called when a request has had its effect; what it throws is the answer. */
  after: (request: AskedRequest) => void = () => undefined
  /** Answers of the paths that no kind has. */
  readonly documents = new Map<string, unknown>([['/version', { major: '1', minor: '34', gitVersion: 'v1.34.4' }]])
  readonly #objects = new Map<string, KubernetesObject>()
  readonly #watchers = new Map<string, Set<Watcher>>()
  readonly #history: { readonly kind: string; readonly version: number; readonly event: WatchEvent }[] = []
  #version = 0

  /** What is stored, without asking. */
  find(type: ResourceType, name: string, namespace = ''): KubernetesObject | undefined {
    return this.#objects.get(keyOf(type, { namespace, name }))
  }

  /** All that is stored of a kind, without asking. */
  all(type: ResourceType): readonly KubernetesObject[] {
    return [...this.#objects].filter(([key]) => key.startsWith(`${type.kind}/`)).map(([, object]) => object)
  }

  /** Stores an object as somebody else would. */
  put(
    type: ResourceType,
    object: { readonly metadata: KubernetesMetadata; readonly [field: string]: unknown },
  ): KubernetesObject {
    return this.#store(type, { apiVersion: apiVersionOf(type), kind: type.kind, ...object })
  }

  /** Changes an object as somebody else would. */
  edit(type: ResourceType, name: string, change: (object: KubernetesObject) => KubernetesObject): void {
    const namespace = [...this.#objects.values()].find(
      ({ kind, metadata }) => kind === type.kind && metadata.name === name,
    )?.metadata.namespace
    const live = this.find(type, name, namespace)
    if (live === undefined) throw new Error(`no ${type.kind} ${name}`)
    this.#store(type, change(live))
  }

  /** Deletes an object as somebody else would. */
  remove(type: ResourceType, name: string, namespace = ''): void {
    const key = keyOf(type, { namespace, name })
    const object = this.#objects.get(key)
    this.#objects.delete(key)
    this.#version += 1
    if (object !== undefined) this.#tell(type, { type: 'DELETED', object: this.#numbered(object) })
  }

  async get(type: ResourceType, name: ObjectName, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    return this.#ask('get', type, name.name, signal, () => this.#objects.get(keyOf(type, name)))
  }

  async list(type: ResourceType, query: Selection, signal: AbortSignal): Promise<ListPage> {
    return this.#ask('list', type, '', signal, () => ({
      resourceVersion: String(this.#version),
      items: this.all(type).filter((object) => selects(query, object)),
    }))
  }

  async *watch(type: ResourceType, query: WatchQuery, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const events: WatchEvent[] = []
    let wake = (): void => undefined
    const watcher: Watcher = (event) => {
      if (event.type === 'BOOKMARK' || selects(query, event.object)) events.push(event)
      wake()
    }
    const watchers = this.#watchers.get(type.kind) ?? new Set()
    for (const { kind, version, event } of this.#history) {
      if (kind === type.kind && version > Number(query.resourceVersion)) watcher(event)
    }
    this.#watchers.set(type.kind, watchers.add(watcher))
    signal.addEventListener('abort', () => wake())
    try {
      for (;;) {
        signal.throwIfAborted()
        const event = events.shift()
        if (event !== undefined) yield event
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      watchers.delete(watcher)
    }
  }

  async create(type: ResourceType, manifest: KubernetesManifest, options: { readonly signal: AbortSignal }) {
    return this.#ask('create', type, manifest.metadata.name, options.signal, () => {
      const key = keyOf(type, named(manifest))
      if (this.#objects.has(key)) throw conflict(`${key} already exists`)
      return this.#store(type, { ...manifest, metadata: { ...manifest.metadata, uid: `uid-${this.#version}` } })
    })
  }

  async replace(type: ResourceType, manifest: KubernetesManifest, options: { readonly signal: AbortSignal }) {
    return this.#ask('replace', type, manifest.metadata.name, options.signal, () => {
      const live = this.#objects.get(keyOf(type, named(manifest)))
      if (live === undefined) throw new KubernetesError('OSM_KUBERNETES_NOT_FOUND', 'gone', { status: 404 })
      const { resourceVersion } = manifest.metadata
      if (resourceVersion !== undefined && resourceVersion !== live.metadata.resourceVersion)
        throw conflict('overtaken')
      return this.#store(type, manifest)
    })
  }

  async delete(type: ResourceType, name: ObjectName, options: { readonly signal: AbortSignal; readonly uid?: string }) {
    return this.#ask('delete', type, name.name, options.signal, () => {
      const live = this.#objects.get(keyOf(type, name))
      if (live === undefined) return false
      if (options.uid !== undefined && options.uid !== live.metadata.uid) throw conflict('another object')
      this.remove(type, name.name, name.namespace)
      return true
    })
  }

  async read(path: string, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    return this.documents.get(path)
  }

  async post(path: string, _body: unknown, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    return this.documents.get(path)
  }

  async apply(): Promise<KubernetesObject> {
    throw new Error('nothing here applies')
  }

  async mergePatch(): Promise<KubernetesObject> {
    throw new Error('nothing here patches')
  }

  async #ask<T>(
    verb: AskedRequest['verb'],
    type: ResourceType,
    name: string,
    signal: AbortSignal,
    answer: () => T,
  ): Promise<T> {
    const request = { verb, kind: type.kind, name }
    await new Promise(setImmediate)
    signal.throwIfAborted()
    this.asked.push(request)
    this.before(request)
    const result = answer()
    this.after(request)
    return structuredClone(result)
  }

  #store(type: ResourceType, manifest: KubernetesManifest): KubernetesObject {
    this.#version += 1
    const key = keyOf(type, named(manifest))
    const known = this.#objects.get(key)
    const object = this.#numbered(
      structuredClone(type.kind === resourceTypes.CustomResourceDefinition.kind ? established(manifest) : manifest),
    )
    this.#objects.set(key, object)
    this.#tell(type, { type: known === undefined ? 'ADDED' : 'MODIFIED', object })
    return object
  }

  #numbered(object: KubernetesObject): KubernetesObject {
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } }
  }

  #tell(type: ResourceType, event: WatchEvent): void {
    this.#history.push({ kind: type.kind, version: this.#version, event })
    for (const watcher of this.#watchers.get(type.kind) ?? []) watcher(structuredClone(event))
  }
}

function established(manifest: KubernetesManifest): KubernetesManifest {
  return { status: { conditions: [{ type: 'Established', status: 'True' }] }, ...manifest }
}

function selects({ namespace, labelSelector, fieldSelector }: Selection, { metadata }: KubernetesObject): boolean {
  const labels = (labelSelector ?? '').split(',').filter(Boolean)
  return (
    (namespace === undefined || metadata.namespace === namespace) &&
    (fieldSelector === undefined || fieldSelector === `metadata.name=${metadata.name}`) &&
    labels.every((label) => metadata.labels?.[label.split('=')[0] ?? ''] === label.split('=')[1])
  )
}

function keyOf(type: ResourceType, { namespace, name }: ObjectName): string {
  return `${type.kind}/${namespace}/${name}`
}

function named({ metadata }: KubernetesManifest): ObjectName {
  return { namespace: metadata.namespace ?? '', name: metadata.name }
}

function conflict(message: string): KubernetesError {
  return new KubernetesError('OSM_KUBERNETES_CONFLICT', message, { status: 409 })
}
