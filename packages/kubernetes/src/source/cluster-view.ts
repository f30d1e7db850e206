import type { NamespaceChange, NamespaceScope } from './namespace-scope.js'

/** What changed in the cluster, as those see it who look at endpoints. */
export type ClusterChange =
  /** A namespace has joined, has left, or has become more or less sure. */
  | { readonly of: 'namespace'; readonly scope: NamespaceScope }
  | { readonly of: 'content'; readonly scope: NamespaceScope; readonly change: NamespaceChange }

/** The namespaces of a mesh: pods, services and endpoint slices as they are now. */
export interface ClusterView {
  /** The namespace, if it is of the mesh and has been read. */
  namespace(name: string): NamespaceScope | undefined
  /** True if the namespace is of the mesh, even if it has not been read. */
  isEnrolled(name: string): boolean
  /** Namespaces of the mesh that have been read. */
  namespaces(): readonly NamespaceScope[]
  /** Why what is known of a namespace may be out of date; undefined while it is not. */
  staleness(name: string): string | undefined
  /** Calls the listener after every change. The result ends it. */
  onClusterChange(listener: (change: ClusterChange) => void): () => void
}
