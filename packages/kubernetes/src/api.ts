/** A kind as the API server serves it. */
export interface ResourceType {
  /** API group; empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Name in URLs. */
  readonly plural: string
  readonly namespaced: boolean
}

/** `metadata` of an object, as far as anything of ours reads it. */
export interface KubernetesMetadata {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
  readonly finalizers?: readonly string[]
}

/** Who an object is deleted with. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** An object as it came from the API server: nothing but its metadata has been looked at. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: KubernetesMetadata
  readonly [field: string]: unknown
}

/** What to send: the API server fills in the rest. */
export type KubernetesManifest = Omit<KubernetesObject, 'metadata'> & {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: KubernetesMetadata
}

/** Which objects of a kind. */
export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

/** A question for a page of a list. */
export interface ListQuery extends Selection {
  /** Objects a page. */
  readonly limit?: number
  /** Where the page before ended. */
  readonly continue?: string
  /** `0` lets the API server answer from its cache. */
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: 'NotOlderThan' | 'Exact'
  /** `metadata`: nothing else of each object is sent, which for Secrets leaves out what is secret. */
  readonly answer?: 'metadata'
}

/** A page of a list. */
export interface ListPage {
  readonly resourceVersion: string
  /** Absent on the last page. */
  readonly continue?: string
  readonly items: readonly KubernetesObject[]
}

/** A question for changes. */
export interface WatchQuery extends Selection {
  /** Changes after this one. */
  readonly resourceVersion: string
  /** When the API server ends the watch. */
  readonly timeoutSeconds: number
  /** Called once the API server has accepted the watch; until a first change nothing else would tell. */
  readonly onOpen?: () => void
}

/** A change. A bookmark's object holds a resourceVersion and nothing else of use. */
export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }

/** Which object. Namespace is empty for cluster-scoped kinds. */
export interface ObjectName {
  readonly namespace: string
  readonly name: string
}

/** How to read one object. */
export interface GetOptions {
  /** `metadata`: nothing else of it is sent. */
  readonly answer?: 'metadata'
}

/** How to write. */
export interface WriteOptions {
  readonly signal: AbortSignal
  /** True: everything is checked and nothing is stored. */
  readonly dryRun?: boolean
  /** `status`, `scale` and the like. */
  readonly subresource?: string
  /** `metadata`: the API server need not send back what was written, which saves both sides most of the answer. Absent: the object. */
  readonly answer?: 'metadata'
}

/** How to apply. */
export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string
  /** True takes fields from other managers; false makes a conflict an error. */
  readonly force: boolean
}

/**
 * The API server. The one port through which everything of ours speaks to Kubernetes.
 *
 * Every method throws a `KubernetesError`: with the HTTP status and reason that the API server gave, or with code
 * `OSM_KUBERNETES_UNREACHABLE` if there was no answer. Errors never hold a token or the body of a Secret. When the signal
 * aborts, every method throws its reason.
 */
export interface KubernetesApi {
  /** One page of a list. */
  list(type: ResourceType, query: ListQuery, signal: AbortSignal): Promise<ListPage>
  /**
   * Changes as they happen, bookmarks included. Ends when the API server ends the watch; throws when it says 410 (`expired`
   * is true on the error) or the connection breaks.
   */
  watch(type: ResourceType, query: WatchQuery, signal: AbortSignal): AsyncIterable<WatchEvent>
  /** The object, or undefined if there is none. */
  get(
    type: ResourceType,
    name: ObjectName,
    signal: AbortSignal,
    options?: GetOptions,
  ): Promise<KubernetesObject | undefined>
  /** Makes an object; `conflict` is true on the error if there is one of the name. */
  create(type: ResourceType, manifest: KubernetesManifest, options: WriteOptions): Promise<KubernetesObject>
  /** Replaces an object; with `metadata.resourceVersion` only if no one else has (`conflict` on the error otherwise). */
  replace(type: ResourceType, manifest: KubernetesManifest, options: WriteOptions): Promise<KubernetesObject>
  /** Server-side apply. */
  apply(type: ResourceType, manifest: KubernetesManifest, options: ApplyOptions): Promise<KubernetesObject>
  /** JSON merge patch; with `metadata.resourceVersion` in it only if no one else has written. */
  mergePatch(
    type: ResourceType,
    name: ObjectName,
    patch: Readonly<Record<string, unknown>>,
    options: WriteOptions,
  ): Promise<KubernetesObject>
  /** Deletes an object, with `uid` only that very one. False if there was none. */
  delete(
    type: ResourceType,
    name: ObjectName,
    options: WriteOptions & { readonly uid?: string; readonly propagation?: 'Background' | 'Foreground' | 'Orphan' },
  ): Promise<boolean>
  /** GET of any path, such as `/version` or `/apis/specs.smi-spec.io/v1alpha4`; undefined for 404. */
  read(path: string, signal: AbortSignal): Promise<unknown>
  /** POST of any path, such as the token of a service account. */
  post(path: string, body: unknown, signal: AbortSignal): Promise<unknown>
}
