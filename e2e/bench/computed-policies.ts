import {
  type MeshObject,
  PolicyComputation,
  type PolicyPart,
  SnapshotBuilder,
  SnapshotEndpointsProvider,
  parseMeshDomains,
  resolveMeshConfig,
  type ProxyKey,
} from '@osm-ts/core'
import type { Part, PartHash, ProxyPart } from '@osm-ts/driver-api/policy'
import type { Translator } from '@osm-ts/driver-envoy'

type Translated = ReturnType<Translator['translate']>
type CatalogUpdate = Parameters<PolicyComputation['take']>[0]

/** The policies of a mesh that is given as objects, without anything that runs. */
export class ComputedPolicies {
  readonly computation: PolicyComputation
  readonly #builder = new SnapshotBuilder(['bench'])
  /** Versions of the documents of proxies. */
  readonly #versions = new Map<ProxyKey, PartHash>()
  readonly #endpoints = new Map<PartHash, Part>()

  constructor() {
    const endpoints = new SnapshotEndpointsProvider({
      id: 'bench',
      current: () => this.#builder.snapshot,
      // Benchmarks announce what they change themselves.
      subscribe: () => () => undefined,
    })
    const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
    this.computation = new PolicyComputation({
      meshName: 'bench',
      osmNamespace: 'osm-system',
      domains,
      endpoints,
      enrolment: { mode: 'all' },
    })
  }

  /** Computes all policies from nothing. Gives the milliseconds that it took. */
  start(objects: readonly MeshObject[]): number {
    const start = performance.now()
    const spec = this.#builder.apply([{ source: 'bench', upserts: objects, deletes: [] }])
    const [written] = this.#builder.snapshot.list('MeshConfig')
    const { config } = resolveMeshConfig(
      written?.spec,
      { osmNamespace: 'osm-system', clusterDomain: 'cluster.local', environment: {} },
      { object: undefined, locate: () => undefined },
    )
    this.#compute({ spec, config, roots: ['root'] })
    return performance.now() - start
  }

  /** Computes what other objects change. Gives the proxies whose document is another one, be it in its endpoints alone. */
  change(
    upserts: readonly MeshObject[],
    endpoints: NonNullable<CatalogUpdate['endpoints']>,
  ): readonly { readonly proxy: ProxyKey }[] {
    const spec = this.#builder.apply([{ source: 'bench', upserts, deletes: [] }])
    return this.#compute({ spec, endpoints })
  }

  #compute(update: CatalogUpdate): readonly { readonly proxy: ProxyKey }[] {
    this.computation.take(update)
    const { faults } = this.computation.settle()
    if (faults.length > 0) throw new AggregateError(faults, 'policies could not be computed')
    const changed: { readonly proxy: ProxyKey }[] = []
    for (const proxy of this.computation.proxies()) {
      const { hash } = this.policyOf(proxy)
      if (this.#versions.get(proxy) === hash) continue
      this.#versions.set(proxy, hash)
      changed.push({ proxy })
    }
    return changed
  }

  /** Translates the policy of a proxy. */
  translate(translator: Translator, proxy: ProxyKey, revision: number): Translated {
    return translator.translate(this.policyOf(proxy).part, (hash) => this.partOf(hash), revision)
  }

  /** The policy of a proxy with its endpoints. */
  policyOf(proxy: ProxyKey): PolicyPart<ProxyPart> {
    const policy = this.computation.policyFor(proxy)
    if (policy === undefined) throw new Error(`proxy ${proxy} has no policy`)
    const whole = this.computation.wholePolicies.of(policy)
    const endpoints = whole.children.find(({ hash }) => hash === whole.part.endpoints)
    if (endpoints !== undefined) this.#remember(endpoints)
    return whole
  }

  /** A part of some policy. */
  partOf(hash: PartHash): Part {
    const part = this.#endpoints.get(hash) ?? this.computation.parts.get(hash)
    if (part === undefined) throw new Error(`part ${hash} is not held`)
    return part
  }

  /** Sets of endpoints are put together for each policy, and are held by none. */
  #remember({ hash, part, children }: PolicyPart): void {
    if (this.#endpoints.has(hash)) return
    this.#endpoints.set(hash, part)
    for (const child of children) this.#remember(child)
  }
}

/** Every resource of a proxy, of all types. */
export function* resourcesOf({ types }: Translated): Generator<{ readonly value: Uint8Array }> {
  for (const set of Object.values(types)) yield* set
}

/** Bytes of every resource of a proxy. */
export function octetsOf(translated: Translated): number {
  let sum = 0
  for (const { value } of resourcesOf(translated)) sum += value.length
  return sum
}
