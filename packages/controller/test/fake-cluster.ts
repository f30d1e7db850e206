import type { ClusterChange, ClusterView, NamespaceScope } from '@osm-ts/kubernetes'

/** Namespaces of a mesh, without anything in them: what the duties of the leader ask of a cluster. */
export class FakeCluster {
  readonly #members = new Set<string>()
  readonly #listeners = new Set<(change: ClusterChange) => void>()

  get view(): ClusterView {
    return {
      namespace: () => undefined,
      namespaces: () => [...this.#members].map((namespace) => scopeOf(namespace)),
      isEnrolled: (name) => this.#members.has(name),
      staleness: () => undefined,
      onClusterChange: (listener) => {
        this.#listeners.add(listener)
        return () => this.#listeners.delete(listener)
      },
    }
  }

  get listeners(): number {
    return this.#listeners.size
  }

  join(namespace: string): void {
    this.#members.add(namespace)
    this.#tell({ of: 'namespace', scope: scopeOf(namespace) })
  }

  leave(namespace: string): void {
    this.#members.delete(namespace)
    this.#tell({ of: 'namespace', scope: scopeOf(namespace) })
  }

  /** A pod has gone whose sidecar never ran. */
  neverRan(namespace: string, name: string): void {
    const changes = [{ name: { namespace, name }, before: { awaited: true } }]
    this.#tell({
      of: 'content',
      scope: scopeOf(namespace),
      change: { of: 'pods', changes },
    } as unknown as ClusterChange)
  }

  /** A pod of a namespace has got its sidecar, or has gone. */
  pod(namespace: string, uuid: string, gone = false, name = uuid): void {
    // As much of a pod as tells whose Secret it has.
    const item = { instance: { spec: { uuid } }, problems: [] }
    const changes = [{ name: { namespace, name }, ...(gone ? { before: item } : { after: item }) }]
    this.#tell({
      of: 'content',
      scope: scopeOf(namespace),
      change: { of: 'pods', changes },
    } as unknown as ClusterChange)
  }

  #tell(change: ClusterChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}

/** Nothing but the name of a namespace is requested. */
function scopeOf(namespace: string): NamespaceScope {
  const scope: unknown = { namespace }
  return scope as NamespaceScope
}
