/** Names one object of the mesh specification. `namespace` is empty for cluster-scoped kinds. */
export interface ObjectRef {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** Where an object was written down: a file of a folder, or the API server. */
export type ObjectOrigin =
  | { readonly kind: 'file'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: 'api'; readonly resourceVersion: string }

/**
 * Something a user wrote that can't be used as it stands.
 *
 * Problems are values: a bad object degrades itself, never the mesh. `code` is stable and listed in docs/reference/errors.md.
 */
export interface Problem {
  readonly code: string
  readonly severity: 'error' | 'warning'
  /** What is wrong and what would be right, in one sentence. */
  readonly message: string
  readonly object?: ObjectRef
  readonly origin?: ObjectOrigin
  /** Path inside the object, such as `spec.backends[1].weight`. */
  readonly field?: string
}
