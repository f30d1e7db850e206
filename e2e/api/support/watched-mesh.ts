import {
  type Answer,
  createLogger,
  type Endpoint,
  MeshCatalog,
  MeshConfigurator,
  parseMeshDomains,
  Recompute,
  SnapshotFeed,
  type SourceChange,
  systemClock,
} from '@osm-ts/core'
import { type KubernetesApi, KubernetesEndpointsProvider, KubernetesSource } from '@osm-ts/kubernetes'

/** What a {@link WatchedMesh} reads. */
export interface WatchedMeshOptions {
  readonly api: KubernetesApi
  readonly meshName: string
  readonly osmNamespace: string
}

const root = '-----BEGIN CERTIFICATE-----\nroot of the test\n-----END CERTIFICATE-----\n'
/** A mesh as a controller follows it, from the API server up to the policies of its proxies, and all that it has told. */
export class WatchedMesh {
  readonly source: KubernetesSource
  readonly feed: SnapshotFeed
  readonly provider: KubernetesEndpointsProvider
  readonly configurator: MeshConfigurator
  readonly catalog: MeshCatalog
  readonly changes: SourceChange[] = []
  /** Recomputations that gave some proxy another policy. */
  pushes = 0
  readonly #recompute: Recompute
  readonly #end = new AbortController()

  constructor({ api, meshName, osmNamespace }: WatchedMeshOptions) {
    const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
    const ports = { clock: systemClock, random: Math.random, logger: createLogger('test', 'disabled') }
    this.source = new KubernetesSource({ api, meshName, osmNamespace, ...ports })
    this.source.subscribe((change) => this.changes.push(change))
    this.feed = new SnapshotFeed([this.source])
    const current = () => this.feed.current()
    const subscribe = this.feed.subscribe.bind(this.feed)
    this.provider = new KubernetesEndpointsProvider({ cluster: this.source, current, subscribe })
    this.configurator = new MeshConfigurator({
      meshName,
      osmNamespace,
      domains,
      environment: { OSM_DEFAULT_SIDECAR_CLASS: 'envoy' },
      whenAbsent: 'last',
      current,
      subscribe,
    })
    const enrolment = { mode: 'labelled', meshName } as const
    this.catalog = new MeshCatalog({
      meshName,
      osmNamespace: 'osm-system',
      domains,
      endpointsProviders: [this.provider],
      enrolment,
    })
    this.#recompute = new Recompute((update) => {
      if (this.catalog.apply(update).length > 0) this.pushes += 1
    }, systemClock)
  }

  /** Reads the mesh; resolves when its policies have been computed. */
  async start(): Promise<void> {
    await this.feed.start(this.#end.signal)
    this.configurator.start()
    const snapshot = this.feed.current()
    if (snapshot === undefined) throw new Error('the sources were read, and there is no snapshot')
    this.#recompute.add({ config: this.configurator.current(), roots: [root], spec: { snapshot, changed: [] } })
    this.feed.subscribe((spec) => {
      this.#recompute.add({ spec })
    })
    this.provider.announcements((endpoints) => {
      this.#recompute.add({ endpoints })
    })
    this.configurator.subscribe(({ after }) => {
      this.#recompute.add({ config: after })
    })
  }

  /** Keys of all objects, sorted. */
  keys(): readonly string[] {
    const keys = this.source.objects().map(({ kind, metadata }) => `${kind}/${metadata.namespace}/${metadata.name}`)
    return keys.sort()
  }

  has(key: string): boolean {
    return this.keys().includes(key)
  }

  problems(code: string): readonly string[] {
    return this.source.problems().flatMap((problem) => (problem.code === code ? [problem.message] : []))
  }

  endpoints(namespace: string, name: string): Answer<Endpoint> {
    return this.provider.listEndpointsForService({ namespace, name })
  }

  /** Takes in what has come, and forgets what was counted. */
  settle(): void {
    this.#recompute.flush()
    this.catalog.resetCounters()
    this.changes.length = 0
    this.pushes = 0
  }

  /** Queries that were computed since the mesh was settled. */
  computed(): readonly string[] {
    this.#recompute.flush()
    return [...this.catalog.counters()].flatMap(([name, { computed }]) => (computed > 0 ? [name] : []))
  }

  async stop(): Promise<void> {
    this.#end.abort()
    await this.#recompute.close()
    await this.source.finished()
  }
}
