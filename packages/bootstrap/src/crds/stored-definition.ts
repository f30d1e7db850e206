import type { KubernetesObject } from '@osm-ts/kubernetes'

/** A version of a CustomResourceDefinition as an API server holds it. */
export interface StoredVersion {
  readonly name: string
  readonly served: boolean
  readonly storage: boolean
  readonly [field: string]: unknown
}

/** A CustomResourceDefinition as an API server holds it, as far as it is checked here. */
export interface StoredDefinition extends KubernetesObject {
  readonly spec: {
    readonly group: string
    readonly versions: readonly StoredVersion[]
    readonly [field: string]: unknown
  }
  readonly status?: { readonly conditions?: readonly StoredCondition[] }
}

/** A condition in the status of a CustomResourceDefinition. */
export interface StoredCondition {
  readonly type: string
  readonly status: string
  readonly message?: string
}

/** The API server has checked what it stores. */
export function asDefinition(object: KubernetesObject): StoredDefinition {
  return object as StoredDefinition
}
