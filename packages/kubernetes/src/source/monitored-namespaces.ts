import type { ObjectDecoder } from '@osm-ts/core'
import type { Informer, InformerChange } from '../informer-types.js'
import { resourceTypes } from '../resource-types.js'
import { enrolmentSelector, isEnrolled, type EnrolmentRule } from './enrolment.js'
import { followed, joinedSignal, type InformerFactory } from './informer-factory.js'
import type { Deduplicator } from './deduplicator.js'
import { NamespaceScope, type Freshness, type NamespaceChange } from './namespace-scope.js'
import type { PodReader } from './pod.js'
import { readObject, sameWritten, type WrittenObject } from './written-object.js'

/** What the namespaces of a mesh are followed with. */
export interface MonitoredNamespacesOptions {
  readonly rule: EnrolmentRule
  readonly informers: InformerFactory
  readonly decoder: ObjectDecoder
  readonly pods: PodReader
  readonly deduplicator: Deduplicator
  readonly listener: NamespaceListener
  /** Told of what keeps a namespace from being followed, other than the end of the signal. */
  readonly onFault: (error: unknown) => void
}

/** Who hears of the namespaces. */
export interface NamespaceListener {
  /** All of a namespace has been read. */
  joined(scope: NamespaceScope, namespace: WrittenObject): void
  /** Labels or annotations of a namespace have changed. */
  relabelled(namespace: WrittenObject): void
  /** A namespace is of the mesh no longer. The scope still holds what it held. */
  left(scope: NamespaceScope): void
  /** Something changed in a namespace that has joined. */
  changed(scope: NamespaceScope, change: NamespaceChange): void
}

interface Member {
  readonly scope: NamespaceScope
  readonly end: AbortController
  joined: boolean
}

/** Follows which namespaces are of the mesh, and each of those that are. */
export class MonitoredNamespaces {
  readonly #options: MonitoredNamespacesOptions
  readonly #informer: Informer<WrittenObject>
  readonly #members = new Map<string, Member>()

  constructor(options: MonitoredNamespacesOptions) {
    const { rule, informers, decoder } = options
    const type = resourceTypes.Namespace
    this.#options = options
    this.#informer = informers({
      type,
      // The API server tells of a namespace that no longer fits the selector as of one that was deleted.
      labelSelector: enrolmentSelector(rule),
      project: (raw) =>
        isEnrolled(raw.metadata.name, raw.metadata.labels ?? {}, rule)
          ? readObject(raw, { decoder, kind: 'Namespace', type, labels: true, facts: false })
          : undefined,
      same: sameWritten,
    })
  }

  /** Starts to follow the namespaces; resolves when all that were enrolled at the beginning have joined or left. */
  async start(signal: AbortSignal): Promise<void> {
    this.#informer.subscribe((changes) => {
      for (const change of changes) this.#follow(change, signal)
    })
    if (!(await followed(this.#informer, signal))) return
    const first = this.#informer.list().filter((namespace) => !this.#members.has(nameOf(namespace)))
    await Promise.all(first.map((namespace) => this.#enter(namespace, signal)))
  }

  /** The namespace if it has joined. */
  get(name: string): NamespaceScope | undefined {
    const member = this.#members.get(name)
    return member?.joined === true ? member.scope : undefined
  }

  /** True from the moment that a namespace is enrolled, even if it has not been read. */
  isEnrolled(name: string): boolean {
    return this.#members.has(name)
  }

  /** Namespaces that have joined. */
  joined(): readonly NamespaceScope[] {
    return [...this.#members.values()].flatMap(({ joined, scope }) => (joined ? [scope] : []))
  }

  /** How sure it is which namespaces are of the mesh. */
  freshness(): Freshness {
    const state = this.#informer.state()
    if (state.state === 'stale') return state
    return { state: state.state === 'synced' ? 'fresh' : 'unknown' }
  }

  #follow({ name: { name }, after }: InformerChange<WrittenObject>, signal: AbortSignal): void {
    const { listener, onFault } = this.#options
    const member = this.#members.get(name)
    if (after === undefined) {
      this.#members.delete(name)
      member?.end.abort()
      if (member?.joined === true) listener.left(member.scope)
    } else if (member === undefined) {
      this.#enter(after, signal).catch(onFault)
    } else if (member.joined) {
      listener.relabelled(after)
    }
  }

  async #enter(namespace: WrittenObject, signal: AbortSignal): Promise<void> {
    const { informers, decoder, pods, deduplicator, listener } = this.#options
    const name = nameOf(namespace)
    const end = new AbortController()
    const scope: NamespaceScope = new NamespaceScope({
      namespace: name,
      informers,
      decoder,
      pods,
      deduplicator,
      onChange: (change) => {
        if (member.joined) listener.changed(scope, change)
      },
    })
    const member: Member = { scope, end, joined: false }
    this.#members.set(name, member)
    const complete = await scope.start(joinedSignal(signal, end.signal))
    if (!complete || this.#members.get(name) !== member) return
    member.joined = true
    // Its labels may have changed in the meantime.
    listener.joined(scope, this.#informer.get({ namespace: '', name }) ?? namespace)
  }
}

function nameOf({ key }: WrittenObject): string {
  return key.slice(key.lastIndexOf('/') + 1)
}
