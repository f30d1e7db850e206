import {
  type GetOptions,
  type KubernetesApi,
  KubernetesError,
  type KubernetesManifest,
  type KubernetesObject,
  type ObjectName,
  type ResourceType,
  type WatchEvent,
} from '@osm-ts/kubernetes'

interface Watcher {
  readonly plural: string
  readonly events: WatchEvent[]
  wake: () => void
}

/** An API server as far as the duties of the leader ask one: objects by name, label selectors of equality and existence, and watches. */
export class MemoryApi implements Pick<
  KubernetesApi,
  'list' | 'watch' | 'get' | 'create' | 'replace' | 'mergePatch' | 'delete' | 'read'
> {
  /** Calls that were answered, such as `list secrets`. */
  readonly calls: string[] = []
  /** Kinds of which more than metadata was read. */
  readonly readWhole = new Set<string>()
  /** Answers of paths outside of the objects. */
  readonly documents = new Map<string, unknown>()
  /** What to refuse, by call. */
  readonly faults = new Map<string, KubernetesError>()
  readonly #objects = new Map<string, KubernetesObject>()
  readonly #watchers = new Set<Watcher>()
  #version = 1

  /** Itself as what it stands for: nothing else of it is called here. */
  get api(): KubernetesApi {
    return this as unknown as KubernetesApi
  }

  put(
    { plural }: ResourceType,
    object: Pick<KubernetesObject, 'metadata'> & { readonly [field: string]: unknown },
  ): KubernetesObject {
    this.#version += 1
    const { namespace = '', name } = object.metadata
    const key = `${plural}/${namespace}/${name}`
    const before = this.#objects.get(key)
    const metadata = {
      uid: before?.metadata.uid ?? `uid-${String(this.#version)}`,
      ...object.metadata,
      resourceVersion: String(this.#version),
    }
    const stored: KubernetesObject = { apiVersion: 'v1', kind: plural, ...object, metadata }
    this.#objects.set(key, stored)
    this.#tell(plural, { type: before === undefined ? 'ADDED' : 'MODIFIED', object: stored })
    return stored
  }

  drop({ plural }: ResourceType, { namespace, name }: ObjectName): boolean {
    const key = `${plural}/${namespace}/${name}`
    const object = this.#objects.get(key)
    if (object === undefined) return false
    this.#objects.delete(key)
    this.#tell(plural, { type: 'DELETED', object })
    return true
  }

  find({ plural }: ResourceType, { namespace, name }: ObjectName): KubernetesObject | undefined {
    return this.#objects.get(`${plural}/${namespace}/${name}`)
  }

  async list(type: ResourceType, { namespace, labelSelector = '', answer }: Parameters<KubernetesApi['list']>[1]) {
    this.#called(`list ${type.plural}`)
    if (answer !== 'metadata') this.readWhole.add(type.plural)
    const wanted = labelSelector === '' ? [] : labelSelector.split(',').map((term) => term.split('='))
    const items = [...this.#objects]
      .filter(([key]) => key.startsWith(`${type.plural}/${namespace === undefined ? '' : `${namespace}/`}`))
      .map(([, object]) => object)
      .filter(({ metadata: { labels = {} } }) =>
        wanted.every(
          ([name = '', value]) => Object.hasOwn(labels, name) && (value === undefined || labels[name] === value),
        ),
      )
    return { resourceVersion: String(this.#version), items }
  }

  async *watch({ plural }: ResourceType, _query: unknown, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const watcher: Watcher = { plural, events: [], wake: () => undefined }
    this.#watchers.add(watcher)
    signal.addEventListener('abort', () => watcher.wake(), { once: true })
    while (!signal.aborted) {
      const event = watcher.events.shift()
      if (event !== undefined) yield event
      else await new Promise<void>((resolve) => (watcher.wake = resolve))
    }
    this.#watchers.delete(watcher)
  }

  async get(type: ResourceType, name: ObjectName, _signal: AbortSignal, { answer }: GetOptions = {}) {
    if (answer !== 'metadata') this.readWhole.add(type.plural)
    return this.find(type, name)
  }

  async create(type: ResourceType, manifest: KubernetesManifest) {
    this.#called(`create ${type.plural}`)
    const { namespace = '', name } = manifest.metadata
    if (this.find(type, { namespace, name }) !== undefined)
      throw new KubernetesError('OSM_KUBERNETES_CONFLICT', 'exists', { status: 409, reason: 'AlreadyExists' })
    return this.put(type, manifest)
  }

  async replace(type: ResourceType, manifest: KubernetesManifest) {
    this.#called(`replace ${type.plural}`)
    return this.put(type, manifest)
  }

  async mergePatch(type: ResourceType, name: ObjectName, patch: Readonly<Record<string, unknown>>) {
    this.#called(`patch ${type.plural}`)
    const before = this.find(type, name)
    if (before === undefined)
      throw new KubernetesError('OSM_KUBERNETES_NOT_FOUND', 'none', { status: 404, reason: 'NotFound' })
    const status = 'status' in patch ? { status: patch.status } : {}
    return this.put(type, { ...before, ...status, metadata: { ...before.metadata, ...(patch.metadata as object) } })
  }

  async read(path: string) {
    this.#called(`read ${path}`)
    return this.documents.get(path)
  }

  async delete(type: ResourceType, name: ObjectName, { uid }: { readonly uid?: string }) {
    this.#called(`delete ${type.plural}`)
    const found = this.find(type, name)
    return found !== undefined && (uid === undefined || found.metadata.uid === uid) && this.drop(type, name)
  }

  #called(call: string): void {
    this.calls.push(call)
    const fault = this.faults.get(call)
    if (fault !== undefined) throw fault
  }

  #tell(plural: string, event: WatchEvent): void {
    for (const watcher of this.#watchers) {
      if (watcher.plural !== plural) continue
      watcher.events.push(event)
      watcher.wake()
    }
  }
}
