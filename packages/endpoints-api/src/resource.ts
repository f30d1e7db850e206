/** A value that JSON can represent. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** A kind of custom resource that a provider owns. */
export interface ResourceKind {
  /** API group, such as `azure.openservicemesh.io`. It must not be one that the mesh or another provider serves. */
  readonly group: string
  readonly version: string
  /** Kind, such as `AzureResource`. */
  readonly kind: string
  /** Plural of the kind in lower case, such as `azureresources`. */
  readonly plural: string
  /** JSON Schema of `spec`: structural, as Kubernetes requires of custom resources. Objects that do not conform are not passed to the provider. */
  readonly specSchema: JsonObject
}

/** Names an object of a {@link ResourceKind}. */
export interface ResourceRef {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** An object of a {@link ResourceKind}, valid for its schema. It may name Services of its own namespace only: a provider refuses others, because a tenant must not send traffic of another one to its machines. */
export interface CustomResource extends ResourceRef {
  readonly labels: Readonly<Record<string, string>>
  /** Increases with each change of `spec`; 1 where the object store does not count. */
  readonly generation: number
  readonly spec: JsonObject
}

/** The objects of the kinds that a provider owns, in the namespaces of the mesh. */
export interface Resources {
  /** The present objects, sorted by kind, namespace and name. Complete before `start` is called. */
  list(): readonly CustomResource[]
  /** Calls the listener after every change, bounded to a few calls per second. The result ends it. */
  subscribe(listener: () => void): () => void
}

/** What a provider found out about one of its objects; written to the status of the object. */
export interface ResourceStatus {
  /** Generation of the object that the status describes. */
  readonly observedGeneration: number
  /** Number of instances that the object selects, ready or not. */
  readonly instances: number
  /** Addresses of instances that take traffic, for people; 16 at most. */
  readonly addresses?: readonly string[]
  /** When everything that the object selects was found last, in milliseconds since 1970; absent if it never was. */
  readonly resolvedAt?: number
  /** True: some of the instances could not be found again, and the last good ones are used. */
  readonly stale?: boolean
  /** At most 8, each type once; `Accepted` and `Stale` are the host's. */
  readonly conditions: readonly ResourceCondition[]
}

/** One condition of an object. */
export interface ResourceCondition {
  /** CamelCase, such as `Resolved`. */
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** CamelCase word or stable code, for programs. */
  readonly reason: string
  /** For people: what is wrong, where, and what is accepted. Never secrets. The host cuts it to 1024 characters. */
  readonly message: string
}
