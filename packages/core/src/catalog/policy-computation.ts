import type { EndpointsPart, ProxyPart } from '@osm-ts/driver-api/policy'

import type { MeshConfig } from '../config/index.js'
import type { EndpointsAnnouncement, EndpointsProvider } from '../endpoints/index.js'
import { proxyKeyOfInstance, type ProxyKey } from '../identity/index.js'
import type { SecretStates } from '../secrets/index.js'
import type { Snapshot, SnapshotUpdate } from '../snapshot/index.js'
import type { Enrolment, MeshObject } from '../spec/index.js'
import type { Edit } from '../snapshot/sorted-index.js'
import { Engine, type Query, type QueryCount } from './incremental/index.js'
import { catalogSettings, type CatalogSettings, type MeshNames } from './inputs/catalog-settings.js'
import type { CatalogState } from './inputs/catalog-state.js'
import { MonitoredView } from './inputs/monitored-view.js'
import { PolicyIndexes } from './inputs/policy-indexes.js'
import { touchedInputs } from './inputs/touched-inputs.js'
import { groupProblems, problemGroups } from './policy/problems/problem-groups.js'
import type { PolicyPart } from './policy/parts/policy-part.js'
import { proxyPart } from './policy/proxies/proxy.js'
import { EndpointContents, type EndpointsChange } from './store/endpoint-contents.js'
import { PolicyPartStore } from './store/policy-part-store.js'
import { WholePolicies } from './store/whole-policies.js'

/** What policies are computed with. */
export interface ComputationOptions extends MeshNames {
  readonly endpoints: EndpointsProvider
  readonly enrolment: Enrolment
  /** Proxies whose policies are kept up to date, see {@link PolicyScope}. Those of all workloads if absent. */
  readonly policyScope?: PolicyScope
}

/**
 * Proxies whose policies are kept up to date: those of all workloads, or those that {@link PolicyComputation.want} was called for, as they are connected. A replica has
 * a share of the proxies of a mesh, and a mesh has workloads whose sidecars have yet to start.
 */
export type PolicyScope = 'allWorkloads' | 'connectedProxies'

/** What is new. Members that are left out are as before. */
export interface CatalogUpdate {
  readonly spec?: SnapshotUpdate
  readonly endpoints?: EndpointsAnnouncement
  readonly config?: MeshConfig
  /** Roots that sign service certificates, PEM, the one in use first. */
  readonly roots?: readonly string[]
  /** Secrets that objects name. Never given: no one knows about Secrets, and each is taken to be there. */
  readonly secrets?: SecretStates
}

/** A proxy whose policy became another one. */
export interface PolicyChange {
  readonly proxy: ProxyKey
  /** Undefined for a new proxy. */
  readonly before: PolicyPart<ProxyPart> | undefined
  /** Undefined for a proxy whose workload is gone. */
  readonly after: PolicyPart<ProxyPart> | undefined
}

/** What came of computing policies for a while. */
export interface Settled {
  /** Exactly the proxies whose policy is another one now, sorted by key. */
  readonly changes: readonly PolicyChange[]
  /** Endpoints that are others now, of what policies hold. */
  readonly endpoints: readonly EndpointsChange[]
  /** Faults of ours. The proxies that they concern keep the policy that they have until they are computed after the next update. */
  readonly faults: readonly unknown[]
}

const nothingAnnounced: EndpointsAnnouncement = { services: [], accounts: [] }

/**
 * Keeps the policy of every proxy up to date.
 *
 * Nothing is computed before specification, configuration and roots have each been given once: half a mesh would look like a mesh that allows little.
 */
export class PolicyComputation {
  /** Parts of the policies in force; anyone who still needs an older version holds it here. */
  readonly parts = new PolicyPartStore({
    held: (part) => {
      if (isEndpoints(part) && this.#engine !== undefined) this.endpoints.follow(this.#engine, part)
    },
    released: (part) => {
      if (isEndpoints(part) && this.#engine !== undefined) this.endpoints.forget(this.#engine, part)
    },
  })
  /** Endpoints of what policies in force may call. */
  readonly endpoints = new EndpointContents()
  /** Policies with their endpoints. */
  readonly wholePolicies = new WholePolicies(this.endpoints)
  readonly #options: ComputationOptions
  readonly #view: MonitoredView
  readonly #policies = new Map<ProxyKey, PolicyPart<ProxyPart> | undefined>()
  #indexes = PolicyIndexes.empty()
  #settings: CatalogSettings | undefined
  #roots: readonly string[] | undefined
  #secrets: SecretStates | undefined
  #specRead = false
  #engine: Engine<CatalogState> | undefined
  #state: CatalogState | undefined
  readonly #wanted = new Set<ProxyKey>()
  /** Proxies whose policy is to be looked at, in reverse order. */
  #due: ProxyKey[] = []
  #gone: PolicyChange[] = []
  /** What {@link want} has found between two calls of {@link settle}. */
  #endpointsChanged: EndpointsChange[] = []
  #faults: unknown[] = []
  #ready = false
  /** Objects that all policies in force are computed from. */
  #computed: Snapshot | undefined

  constructor(options: ComputationOptions) {
    this.#options = options
    this.#view = new MonitoredView(options.enrolment, options.osmNamespace)
  }

  /** True once policies have been computed for all proxies that were there first. */
  get ready(): boolean {
    return this.#ready
  }

  /** False while there is something for {@link settle} to do. */
  get settled(): boolean {
    return this.#due.length === 0 && this.#gone.length === 0
  }

  /** Objects that the mesh acts on. */
  get snapshot(): Snapshot {
    return this.#view.snapshot
  }

  /** Takes in what is new. What follows from it for the policies of proxies is for {@link settle} to compute. */
  take(update: CatalogUpdate): void {
    if (update.config !== undefined) this.#settings = catalogSettings(update.config, this.#options)
    if (update.roots !== undefined) this.#roots = update.roots
    if (update.secrets !== undefined) this.#secrets = update.secrets
    const edits = update.spec === undefined ? [] : this.#read(update.spec)
    const state = this.#nextState()
    if (state === undefined) return
    const before = this.#state
    this.#state = state
    if (this.#engine === undefined || before === undefined) {
      this.#engine = new Engine(state)
      // Kept, so that requesting problems again costs what has changed only.
      for (const group of problemGroups()) this.#engine.pin(groupProblems, group)
      this.#followAll(this.#engine)
    } else {
      const endpoints = update.endpoints ?? nothingAnnounced
      this.#engine.update(state, touchedInputs({ before, after: state, edits, endpoints }))
      this.#follow(this.#engine, edits)
    }
    this.#due = this.#engine.outdated(proxyPart).toReversed()
  }

  /**
   * Computes the policies that may be others by what was taken in: until all are computed, or until `mayGoOn` says no, which is asked after each. In between,
   * a policy is either the previous or the new one, never a mixture.
   */
  settle(mayGoOn: () => boolean = () => true): Settled {
    const engine = this.#engine
    if (engine === undefined) return { changes: [], endpoints: [], faults: [] }
    const changes = this.#gone
    const faults = this.#faults
    const endpoints = this.#endpointsChanged
    this.#gone = []
    this.#faults = []
    this.#endpointsChanged = []
    endpoints.push(...this.endpoints.update(engine, faults))
    for (let proxy = this.#due.pop(); proxy !== undefined; proxy = this.#due.pop()) {
      try {
        const change = this.#compute(engine, proxy)
        if (change !== undefined) changes.push(change)
      } catch (error) {
        faults.push(error)
      }
      if (!mayGoOn()) break
    }
    // Of what policies hold since just now nothing was known before.
    this.endpoints.update(engine, faults)
    engine.collect()
    if (this.settled) {
      this.#ready = true
      this.#computed = this.snapshot
    }
    return { changes: changes.sort((a, b) => (a.proxy < b.proxy ? -1 : 1)), endpoints, faults }
  }

  /**
   * Keeps the policy of a proxy up to date from now on. It is computed at once, by what was taken in last, if there is a workload of that proxy; otherwise once
   * there is.
   */
  want(proxy: ProxyKey): void {
    if (this.#options.policyScope !== 'connectedProxies') return
    this.#wanted.add(proxy)
    const engine = this.#engine
    if (engine === undefined || this.#policies.has(proxy) || !this.#exists(proxy)) return
    this.#begin(engine, proxy)
    try {
      this.#compute(engine, proxy)
      this.#endpointsChanged.push(...this.endpoints.update(engine, this.#faults))
    } catch (error) {
      this.#faults.push(error)
    }
  }

  /** No one wants the policy of a proxy any more. It is forgotten. */
  release(proxy: ProxyKey): void {
    this.#wanted.delete(proxy)
    if (this.#options.policyScope !== 'connectedProxies' || this.#engine === undefined) return
    this.#end(this.#engine, proxy)
    this.#engine.collect()
  }

  /** Reads a policy, which is computed for this if no one wants it. Undefined where the proxy has none. */
  inspect<T>(proxy: ProxyKey, read: (policy: PolicyPart<ProxyPart>) => T): T | undefined {
    const isWanted = this.#wanted.has(proxy)
    if (!isWanted) this.want(proxy)
    try {
      const policy = this.#policies.get(proxy)
      return policy && read(policy)
    } finally {
      if (!isWanted) this.release(proxy)
    }
  }

  /** True if policies in force may send traffic to the workload: it took traffic when they were computed. */
  takesTraffic(proxy: ProxyKey): boolean {
    return this.#computed?.instanceOfProxy(proxy)?.spec.ready ?? false
  }

  /** The policy in force; undefined for a proxy that no one wants. */
  policyFor(proxy: ProxyKey): PolicyPart<ProxyPart> | undefined {
    return this.#policies.get(proxy)
  }

  /** Proxies of all workloads, sorted. Those whose account cannot have a certificate have no policy. */
  proxies(): readonly ProxyKey[] {
    if (this.#engine === undefined) return []
    return [...new Set(this.#view.snapshot.list('WorkloadInstance').map(proxyKeyOfInstance))].sort()
  }

  /** The value of a query now; undefined before {@link ready}. */
  read<K, V>(query: Query<CatalogState, K, V>, key: K): V | undefined {
    return this.#engine?.get(query, key)
  }

  /** Inputs of the computation; undefined before {@link ready}. */
  get state(): CatalogState | undefined {
    return this.#state
  }

  /** How often each query ran since {@link resetCounters}. */
  counters(): ReadonlyMap<string, QueryCount> {
    return this.#engine?.counters() ?? new Map<string, QueryCount>()
  }

  resetCounters(): void {
    this.#engine?.resetCounters()
  }

  #read(update: SnapshotUpdate): readonly Edit<MeshObject>[] {
    const { edits } = this.#view.apply(update)
    this.#indexes = this.#indexes.with(edits)
    this.#specRead = true
    return edits
  }

  #nextState(): CatalogState | undefined {
    if (this.#settings === undefined || this.#roots === undefined || !this.#specRead) return undefined
    return {
      snapshot: this.#view.snapshot,
      indexes: this.#indexes,
      endpoints: this.#options.endpoints,
      settings: this.#settings,
      roots: this.#roots,
      secrets: this.#secrets,
    }
  }

  #followAll(engine: Engine<CatalogState>): void {
    this.#follow(
      engine,
      this.#view.snapshot.list('WorkloadInstance').map((after) => ({ before: undefined, after })),
    )
  }

  /** Starts to follow instances that came, and ends it with those that went. */
  #follow(engine: Engine<CatalogState>, edits: readonly Edit<MeshObject>[]): void {
    for (const proxy of new Set(edits.flatMap(proxiesOf))) {
      const exists = this.#exists(proxy)
      const followed = this.#policies.has(proxy)
      if (exists && !followed && this.#isWanted(proxy)) this.#begin(engine, proxy)
      if (exists || !followed) continue
      const before = this.#policies.get(proxy)
      this.#end(engine, proxy)
      if (before !== undefined) this.#gone.push({ proxy, before, after: undefined })
    }
  }

  #exists(proxy: ProxyKey): boolean {
    return this.#view.snapshot.instanceOfProxy(proxy) !== undefined
  }

  #isWanted(proxy: ProxyKey): boolean {
    return this.#options.policyScope !== 'connectedProxies' || this.#wanted.has(proxy)
  }

  #begin(engine: Engine<CatalogState>, proxy: ProxyKey): void {
    engine.pin(proxyPart, proxy)
    this.#policies.set(proxy, undefined)
  }

  #end(engine: Engine<CatalogState>, proxy: ProxyKey): void {
    if (!this.#policies.has(proxy)) return
    const before = this.#policies.get(proxy)
    engine.unpin(proxyPart, proxy)
    this.#policies.delete(proxy)
    if (before !== undefined) this.parts.release(before)
  }

  #compute(engine: Engine<CatalogState>, proxy: ProxyKey): PolicyChange | undefined {
    // It may have been released since it became due.
    if (!this.#policies.has(proxy)) return undefined
    const before = this.#policies.get(proxy)
    const after = engine.get(proxyPart, proxy)
    if (before?.hash === after?.hash) return undefined
    if (after !== undefined && before !== undefined) this.parts.replace(before, after)
    else if (after !== undefined) this.parts.retain(after)
    else if (before !== undefined) this.parts.release(before)
    this.#policies.set(proxy, after)
    return { proxy, before, after }
  }
}

function isEndpoints(part: PolicyPart): part is PolicyPart<EndpointsPart> {
  return part.part.kind === 'endpoints'
}

function proxiesOf({ before, after }: Edit<MeshObject>): readonly ProxyKey[] {
  return [before, after].flatMap((object) => (object?.kind === 'WorkloadInstance' ? [proxyKeyOfInstance(object)] : []))
}
