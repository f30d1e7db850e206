import {
  type InstanceProvider,
  isOfKind,
  type KindMap,
  type ObjectKey,
  type ProxyInstance,
  proxyKeyOfInstance,
  type ProxyKey,
  type ProxySharing,
  type Snapshot,
  type SnapshotUpdate,
} from '@osm-ts/core'
import type { ProxyUUID } from '@osm-ts/driver-api'

type Instance = KindMap['WorkloadInstance']

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

  instance(proxy: ProxyKey): ProxyInstance | undefined {
    const object = this.#options.current()?.instanceOfProxy(proxy)
    return object === undefined ? undefined : this.#proxyInstance(object)
  }

  instances(): readonly ProxyInstance[] {
    const snapshot = this.#options.current()
    const known = new Map<ProxyKey, ProxySharing | undefined>()
    return (snapshot?.list('WorkloadInstance') ?? []).map((object) => {
      const proxy = proxyKeyOfInstance(object)
      if (!known.has(proxy))
        known.set(proxy, sharingOf(snapshot?.instancesOfProxy(proxy) ?? [], snapshot?.instanceOfProxy(proxy)))
      const sharing = known.get(proxy)
      return { ...this.#proxyInstance(object), ...(sharing === undefined ? {} : { sharing }) }
    })
  }

  onPresent(listener: (proxies: readonly ProxyKey[]) => void): () => void {
    const { current, subscribe } = this.#options
    listener((current()?.list('WorkloadInstance') ?? []).map(proxyKeyOfInstance))
    return subscribe(({ snapshot, changed }) => {
      const present = changed.flatMap((key) => instanceBehind(snapshot, key) ?? [])
      if (present.length > 0) listener(present.map(proxyKeyOfInstance))
    })
  }

  onRemoved(listener: (proxies: readonly ProxyKey[]) => void): () => void {
    let before = this.#options.current()
    return this.#options.subscribe(({ snapshot, changed }) => {
      const last = before
      before = snapshot
      const removed = new Set(
        changed.flatMap((key) => {
          const instance = instanceBehind(last, key)
          return instance === undefined ? [] : [proxyKeyOfInstance(instance)]
        }),
      )
      const gone = [...removed].filter((proxy) => snapshot.instanceOfProxy(proxy) === undefined)
      if (gone.length > 0) listener(gone)
    })
  }

  #proxyInstance({ metadata, spec }: Instance): ProxyInstance {
    return {
      uuid: spec.uuid as ProxyUUID, // the schema of the kind demands the form
      serviceAccount: { namespace: metadata.namespace, name: spec.serviceAccountName },
      class: spec.sidecarClass || this.#options.defaultClass(),
      name: metadata.name,
      addresses: spec.addresses,
      ready: spec.ready,
      ...(spec.serviceCredential === undefined ? {} : { serviceCredential: spec.serviceCredential }),
    }
  }
}

function instanceBehind(snapshot: Snapshot | undefined, key: ObjectKey): Instance | undefined {
  const object = key.startsWith('WorkloadInstance/') ? snapshot?.getByKey(key) : undefined
  return object !== undefined && isOfKind(object, 'WorkloadInstance') ? object : undefined
}

function sharingOf(instances: readonly Instance[], owner: Instance | undefined): ProxySharing | undefined {
  if (instances.length < 2 || owner === undefined) return undefined
  const [, second = owner.spec.createdAt] = instances.map(({ spec }) => spec.createdAt).sort()
  return { owner: owner.metadata.name, count: instances.length, since: second }
}
