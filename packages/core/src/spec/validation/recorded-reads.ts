import type { ServiceAccountRef } from '@osm-ts/driver-api'

import type { ProxyKey } from '../../identity/proxy-key.js'
import type { SelectableObject, Snapshot } from '../../snapshot/snapshot.js'
import { compareObjects } from '../../snapshot/sorted-index.js'
import type { KindMap, MeshObject, ObjectKey } from '../objects.js'
import { allKinds, type Kind } from '../schema/kinds.js'
import type { ClaimLookup } from './claims.js'

/**
 * What was read of a snapshot, as numbers. Different reads may have one number; a change of one then counts as a change of the other, which costs a
 * check that was not necessary. So a check of thousands of objects keeps a few bytes for each read.
 */
export type Reads = readonly number[]

/** A snapshot that notes what is read of it. */
export class RecordedSnapshot implements Snapshot {
  readonly #snapshot: Snapshot
  readonly #reads = new Set<number>()

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
  }

  /** What was read since the last call. */
  taken(): Reads {
    const reads = [...this.#reads]
    this.#reads.clear()
    return reads
  }

  /** Claims that are answered from the whole snapshot: any change may affect them. */
  claims(claims: ClaimLookup): ClaimLookup {
    return {
      rival: (...claim) => {
        this.#reads.add(ANYTHING)
        return claims.rival(...claim)
      },
      owner: (...claim) => {
        this.#reads.add(ANYTHING)
        return claims.owner(...claim)
      },
      trusting: (name) => {
        this.#reads.add(ANYTHING)
        return claims.trusting(name)
      },
      granting: (account) => {
        this.#reads.add(ANYTHING)
        return claims.granting(account)
      },
    }
  }

  get revision(): number {
    this.#reads.add(ANYTHING)
    return this.#snapshot.revision
  }

  get<K extends Kind>(kind: K, namespace: string, name: string): KindMap[K] | undefined {
    this.#reads.add(numberOf('get', kind, namespace, name))
    return this.#snapshot.get(kind, namespace, name)
  }

  getByKey(key: ObjectKey): MeshObject | undefined {
    this.#reads.add(ANYTHING)
    return this.#snapshot.getByKey(key)
  }

  list<K extends Kind>(kind: K): readonly KindMap[K][] {
    this.#reads.add(numberOf('list', kind))
    return this.#snapshot.list(kind)
  }

  byNamespace<K extends Kind>(kind: K, namespace: string): readonly KindMap[K][] {
    this.#reads.add(numberOf('namespace', kind, namespace))
    return this.#snapshot.byNamespace(kind, namespace)
  }

  namespaces(): readonly string[] {
    this.#reads.add(ANYTHING)
    return this.#snapshot.namespaces()
  }

  servicesSelecting(namespace: string, labels: Readonly<Record<string, string>>): readonly KindMap['Service'][] {
    this.#reads.add(numberOf('namespace', 'Service', namespace))
    return this.#snapshot.servicesSelecting(namespace, labels)
  }

  workloadsOf(service: KindMap['Service']): readonly KindMap['Workload'][] {
    this.#noteSelected('Workload', service)
    return this.#snapshot.workloadsOf(service)
  }

  instancesOf(service: KindMap['Service']): readonly KindMap['WorkloadInstance'][] {
    this.#noteSelected('WorkloadInstance', service)
    return this.#snapshot.instancesOf(service)
  }

  workloadsOfIdentity(account: ServiceAccountRef): readonly KindMap['Workload'][] {
    this.#reads.add(numberOf('account', 'Workload', account.namespace, account.name))
    return this.#snapshot.workloadsOfIdentity(account)
  }

  instancesOfIdentity(account: ServiceAccountRef): readonly KindMap['WorkloadInstance'][] {
    this.#reads.add(numberOf('account', 'WorkloadInstance', account.namespace, account.name))
    return this.#snapshot.instancesOfIdentity(account)
  }

  instanceOfProxy(proxy: ProxyKey): KindMap['WorkloadInstance'] | undefined {
    this.#reads.add(numberOf('list', 'WorkloadInstance'))
    return this.#snapshot.instanceOfProxy(proxy)
  }

  instancesOfProxy(proxy: ProxyKey): readonly KindMap['WorkloadInstance'][] {
    this.#reads.add(numberOf('list', 'WorkloadInstance'))
    return this.#snapshot.instancesOfProxy(proxy)
  }

  instancesByUuid(uuid: string): readonly KindMap['WorkloadInstance'][] {
    this.#reads.add(numberOf('list', 'WorkloadInstance'))
    return this.#snapshot.instancesByUuid(uuid)
  }

  /** Whatever a service selects has each of its labels, so that one stands for all. */
  #noteSelected(kind: SelectableObject['kind'], service: KindMap['Service']): void {
    const [label] = Object.entries(service.spec.selector ?? {})
    if (label !== undefined) this.#reads.add(numberOf('label', kind, service.metadata.namespace, ...label))
  }
}

/** Reads that may give something else in `after` than in `before`. Lists of a kind that no edit touched are the same arrays. */
export function changedReads(before: Snapshot, after: Snapshot): ReadonlySet<number> {
  const changed = new Set<number>()
  for (const kind of allKinds()) {
    const [old, now] = [before.list(kind), after.list(kind)]
    if (old !== now) for (const object of differences(old, now)) noteChange(changed, object)
  }
  if (changed.size > 0) changed.add(ANYTHING)
  return changed
}

type How = 'get' | 'list' | 'namespace' | 'account' | 'label'

/** Stands for a read that any change may affect. */
const ANYTHING = -1

function noteChange(changed: Set<number>, object: MeshObject): void {
  const { kind, metadata } = object
  const { namespace, name } = metadata
  changed.add(numberOf('get', kind, namespace, name))
  changed.add(numberOf('list', kind))
  changed.add(numberOf('namespace', kind, namespace))
  if (object.kind !== 'Workload' && object.kind !== 'WorkloadInstance') return
  changed.add(numberOf('account', kind, namespace, object.spec.serviceAccountName))
  for (const [key, value] of Object.entries(metadata.labels))
    changed.add(numberOf('label', kind, namespace, key, value))
}

/** Versions of objects that are in one of the lists only. Both are sorted as snapshots sort them. */
function differences(before: readonly MeshObject[], after: readonly MeshObject[]): readonly MeshObject[] {
  const found: MeshObject[] = []
  let [left, right] = [0, 0]
  while (left < before.length || right < after.length) {
    const [old, now] = [before[left], after[right]]
    const order = old === undefined ? 1 : now === undefined ? -1 : old === now ? 0 : compareObjects(old, now)
    if (order <= 0 && old !== undefined) left += 1
    if (order >= 0 && now !== undefined) right += 1
    if (old === now) continue
    if (order <= 0 && old !== undefined) found.push(old)
    if (order >= 0 && now !== undefined) found.push(now)
  }
  return found
}

/** FNV-1a over the texts, in 30 bits, which V8 keeps without an object. Texts are set apart by a unit that none of them has. */
function numberOf(how: How, kind: Kind, namespace = '', name = '', value = ''): number {
  let hash = 0x811c9dc5
  hash = mixed(mixed(hash, how), kind)
  hash = mixed(mixed(mixed(hash, namespace), name), value)
  return hash >>> 2
}

function mixed(hash: number, text: string): number {
  let mix = hash
  for (let at = 0; at < text.length; at += 1) mix = Math.imul(mix ^ text.charCodeAt(at), 0x01000193)
  return Math.imul(mix ^ 0xffff, 0x01000193)
}
