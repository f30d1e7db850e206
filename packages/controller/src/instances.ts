import type { InstanceProvider, KindMap, ProxyInstance, Snapshot, SnapshotUpdate } from '@osm-ts/core'
import type { ProxyUUID } from '@osm-ts/driver-api'

/** Where {@link SnapshotInstances} reads. */
export interface SnapshotInstancesOptions {
  readonly current: () => Snapshot | undefined
  readonly subscribe: (listener: (update: SnapshotUpdate) => void) => () => void
  /** Class of workloads that do not say theirs, as OSM's injector left them. */
  readonly defaultClass: () => string
}

/** The workloads of a mesh, as its snapshots have them. */
export class SnapshotInstances implements InstanceProvider {
  readonly #options: SnapshotInstancesOptions

  constructor(options: SnapshotInstancesOptions) {
    this.#options = options
  }

  instance(uuid: ProxyUUID): ProxyInstance | undefined {
    const object = this.#options.current()?.instanceByUuid(uuid)
    return object === undefined ? undefined : this.#proxyInstance(object)
  }

  instances(): readonly ProxyInstance[] {
    return (this.#options.current()?.list('WorkloadInstance') ?? []).map((object) => this.#proxyInstance(object))
  }

  onRemoved(listener: (uuids: readonly ProxyUUID[]) => void): () => void {
    let known = uuidsOf(this.#options.current())
    return this.#options.subscribe(({ snapshot, changed }) => {
      if (!changed.some((key) => key.startsWith('WorkloadInstance/'))) return
      const now = uuidsOf(snapshot)
      const removed = [...known].filter((uuid) => !now.has(uuid))
      known = now
      if (removed.length > 0) listener(removed)
    })
  }

  #proxyInstance({ metadata, spec }: KindMap['WorkloadInstance']): ProxyInstance {
    return {
      uuid: spec.uuid as ProxyUUID, // the schema of the kind demands the form
      serviceAccount: { namespace: metadata.namespace, name: spec.serviceAccountName },
      class: spec.sidecarClass || this.#options.defaultClass(),
      name: metadata.name,
      ready: spec.ready,
    }
  }
}

function uuidsOf(snapshot: Snapshot | undefined): ReadonlySet<ProxyUUID> {
  return new Set((snapshot?.list('WorkloadInstance') ?? []).map(({ spec }) => spec.uuid as ProxyUUID))
}
