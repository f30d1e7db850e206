import type { ServiceAccountRef } from '@osm-ts/driver-api'

import { proxyKeyOfInstance, type ProxyKey } from '../identity/proxy-key.js'
import { isOfKind, type KindMap, type MeshObject, type ObjectKey } from '../spec/objects.js'
import { allKinds, kindDefinitions, type Kind } from '../spec/schema/kinds.js'
import { BucketMap } from './bucket-map.js'
import type { SelectableObject, Snapshot } from './snapshot.js'
import { SortedIndex, type Edit } from './sorted-index.js'

type Labels = Readonly<Record<string, string>>

/** One edit of one object, by key. */
export interface ObjectEdit extends Edit<MeshObject> {
  readonly key: ObjectKey
}

/** Everything that a snapshot holds; each version shares what it did not change. */
interface Tables {
  readonly byKey: BucketMap<MeshObject>
  /** By `<Kind>` and by `<Kind>/<namespace>`. */
  readonly lists: SortedIndex<MeshObject>
  /** Services by one pair of their selector. */
  readonly selectors: SortedIndex<KindMap['Service']>
  /** Workloads and instances by each of their labels. */
  readonly labels: SortedIndex<SelectableObject>
  /** Workloads and instances by service account. */
  readonly identities: SortedIndex<SelectableObject>
  /** Instances by the key of their proxy, and by its uuid. */
  readonly proxies: SortedIndex<KindMap['WorkloadInstance']>
}

/** The one implementation of {@link Snapshot}. */
export class MeshSnapshot implements Snapshot {
  readonly revision: number
  readonly #tables: Tables
  #namespaces: readonly string[] | undefined

  private constructor(revision: number, tables: Tables) {
    this.revision = revision
    this.#tables = tables
  }

  static empty(): MeshSnapshot {
    return new MeshSnapshot(0, {
      byKey: BucketMap.empty(),
      lists: SortedIndex.create((object: MeshObject) => listKeys(object)),
      selectors: SortedIndex.create((service: KindMap['Service']) => selectorKeys(service)),
      labels: SortedIndex.create((object: SelectableObject) => labelKeys(object)),
      identities: SortedIndex.create((object: SelectableObject) => [
        identityKey(object.kind, object.metadata.namespace, object.spec.serviceAccountName),
      ]),
      proxies: SortedIndex.create((instance: KindMap['WorkloadInstance']) => [
        proxyKeyOfInstance(instance),
        instance.spec.uuid,
      ]),
    })
  }

  /** The next snapshot. The cost is that of the edits and of copying the lists they touch. */
  with(edits: readonly ObjectEdit[]): MeshSnapshot {
    const { byKey, lists, selectors, labels, identities, proxies } = this.#tables
    const services = edits.flatMap((edit) => narrow(edit, isService))
    const selectable = edits.flatMap((edit) => narrow(edit, isSelectable))
    const instances = edits.flatMap((edit) => narrow(edit, isInstance))
    return new MeshSnapshot(this.revision + 1, {
      byKey: byKey.with(edits.map(({ key, after }) => [key, after] as const)),
      lists: lists.with(edits),
      selectors: selectors.with(services),
      labels: labels.with(selectable),
      identities: identities.with(selectable),
      proxies: proxies.with(instances),
    })
  }

  get<K extends Kind>(kind: K, namespace: string, name: string): KindMap[K] | undefined {
    // Keys are made of the kind, so the object under one is of that kind.
    return this.#tables.byKey.get(`${kind}/${namespace}/${name}`) as KindMap[K] | undefined
  }

  getByKey(key: ObjectKey): MeshObject | undefined {
    return this.#tables.byKey.get(key)
  }

  list<K extends Kind>(kind: K): readonly KindMap[K][] {
    // Lists are keyed by kind, so they hold objects of that kind only.
    return this.#tables.lists.get(kind) as readonly KindMap[K][]
  }

  byNamespace<K extends Kind>(kind: K, namespace: string): readonly KindMap[K][] {
    return this.#tables.lists.get(`${kind}/${namespace}`) as readonly KindMap[K][]
  }

  namespaces(): readonly string[] {
    // Computed when first asked for, from data that never changes: callers can't tell.
    this.#namespaces ??= Object.freeze([...this.#collectNamespaces()].sort())
    return this.#namespaces
  }

  servicesSelecting(namespace: string, labels: Labels): readonly KindMap['Service'][] {
    const found = Object.entries(labels).flatMap(([key, value]) =>
      this.#tables.selectors
        .get(pairKey('Service', namespace, key, value))
        .filter((service) => selects(service, labels)),
    )
    // Each service is indexed under one pair, so that nothing is found twice; pairs come in the order of the labels.
    return found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  }

  workloadsOf(service: KindMap['Service']): readonly KindMap['Workload'][] {
    return this.#selected('Workload', service).filter((object) => isOfKind(object, 'Workload'))
  }

  instancesOf(service: KindMap['Service']): readonly KindMap['WorkloadInstance'][] {
    return this.#selected('WorkloadInstance', service).filter(isInstance)
  }

  workloadsOfIdentity(account: ServiceAccountRef): readonly KindMap['Workload'][] {
    const found = this.#tables.identities.get(identityKey('Workload', account.namespace, account.name))
    return found as readonly KindMap['Workload'][]
  }

  instancesOfIdentity(account: ServiceAccountRef): readonly KindMap['WorkloadInstance'][] {
    const found = this.#tables.identities.get(identityKey('WorkloadInstance', account.namespace, account.name))
    return found as readonly KindMap['WorkloadInstance'][]
  }

  instanceOfProxy(proxy: ProxyKey): KindMap['WorkloadInstance'] | undefined {
    const instances = this.#tables.proxies.get(proxy)
    return instances.length < 2 ? instances[0] : instances.reduce((a, b) => (isCreatedBefore(b, a) ? b : a))
  }

  instancesOfProxy(proxy: ProxyKey): readonly KindMap['WorkloadInstance'][] {
    return this.#tables.proxies.get(proxy)
  }

  instancesByUuid(uuid: string): readonly KindMap['WorkloadInstance'][] {
    return this.#tables.proxies.get(uuid)
  }

  #selected(kind: SelectableObject['kind'], service: KindMap['Service']): readonly SelectableObject[] {
    const { namespace } = service.metadata
    const lists = Object.entries(service.spec.selector ?? {}).map(([key, value]) =>
      this.#tables.labels.get(pairKey(kind, namespace, key, value)),
    )
    const [first, ...rest] = lists
    if (first === undefined) return []
    const shortest = rest.reduce((best, list) => (list.length < best.length ? list : best), first)
    return shortest.filter((object) => selects(service, object.metadata.labels))
  }

  #collectNamespaces(): ReadonlySet<string> {
    const names = new Set(this.list('Namespace').map((namespace) => namespace.metadata.name))
    for (const key of this.#tables.lists.keys()) {
      const slash = key.indexOf('/')
      if (slash !== -1) names.add(key.slice(slash + 1))
    }
    return names
  }
}

/** True if one instance is known to be older than another. A time that cannot be read counts as the latest. */
function isCreatedBefore({ spec: a }: KindMap['WorkloadInstance'], { spec: b }: KindMap['WorkloadInstance']): boolean {
  const [first, second] = [a, b].map(({ createdAt }) => Date.parse(createdAt))
  return (
    first !== undefined && second !== undefined && (first < second || (Number.isNaN(second) && !Number.isNaN(first)))
  )
}

/** True if the service has a selector and all of it occurs in the labels. */
function selects(service: KindMap['Service'], labels: Labels): boolean {
  const selector = Object.entries(service.spec.selector ?? {})
  return selector.length > 0 && selector.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
}

function listKeys(object: MeshObject): readonly string[] {
  if (kindDefinitions[object.kind].scope === 'Cluster') return [object.kind]
  return [object.kind, `${object.kind}/${object.metadata.namespace}`]
}

function selectorKeys(service: KindMap['Service']): readonly string[] {
  const [pair] = Object.entries(service.spec.selector ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  return pair === undefined ? [] : [pairKey('Service', service.metadata.namespace, ...pair)]
}

function labelKeys(object: SelectableObject): readonly string[] {
  return Object.entries(object.metadata.labels).map(([key, value]) =>
    pairKey(object.kind, object.metadata.namespace, key, value),
  )
}

function pairKey(kind: Kind, namespace: string, key: string, value: string): string {
  return `${kind}/${namespace}/${key}=${value}`
}

function identityKey(kind: SelectableObject['kind'], namespace: string, account: string): string {
  return `${kind}/${namespace}/${account}`
}

function isService(object: MeshObject): object is KindMap['Service'] {
  return object.kind === 'Service'
}

function isInstance(object: MeshObject): object is KindMap['WorkloadInstance'] {
  return object.kind === 'WorkloadInstance'
}

function isSelectable(object: MeshObject): object is SelectableObject {
  return object.kind === 'Workload' || object.kind === 'WorkloadInstance'
}

function narrow<T extends MeshObject>(edit: Edit<MeshObject>, is: (object: MeshObject) => object is T): Edit<T>[] {
  const { before, after } = edit
  const narrowed = { before: before && is(before) ? before : undefined, after: after && is(after) ? after : undefined }
  return narrowed.before === undefined && narrowed.after === undefined ? [] : [narrowed]
}

/** Objects of a snapshot, by key: for comparisons and dumps. */
export function snapshotObjects(snapshot: Snapshot): ReadonlyMap<ObjectKey, MeshObject> {
  const objects = new Map<ObjectKey, MeshObject>()
  for (const kind of allKinds())
    for (const object of snapshot.list(kind))
      objects.set(`${kind}/${object.metadata.namespace}/${object.metadata.name}` as ObjectKey, object)
  return objects
}
