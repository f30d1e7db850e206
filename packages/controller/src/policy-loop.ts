import {
  type CatalogUpdate,
  type CertificateManager,
  type ChangeCause,
  type EndpointsProvider,
  type LoopWatch,
  type MeshCatalog,
  type MeshConfigurator,
  type PushLog,
  Recompute,
  type SecretSource,
  type SnapshotFeed,
  systemClock,
} from '@osm-ts/core'

/** What {@link followMesh} joins. */
export interface FollowOptions {
  readonly catalog: MeshCatalog
  readonly endpoints: EndpointsProvider
  readonly feed: SnapshotFeed
  readonly configurator: MeshConfigurator
  readonly certificates: CertificateManager
  readonly secrets: SecretSource
  readonly pushes: PushLog
  readonly loop: LoopWatch
  /** Told of every recomputation: how long it took, and for how many proxies it changed something. */
  readonly onRecomputed: (milliseconds: number, changed: number) => void
  /** Told of what a recomputation threw. */
  readonly onFault: (error: unknown) => void
  readonly signal: AbortSignal
}

/**
 * Brings everything that policies depend on into the catalog: objects, endpoints, configuration and roots. Ends with the signal.
 */
export async function followMesh(options: FollowOptions): Promise<void> {
  const { catalog, endpoints, feed, configurator, certificates, secrets, pushes, loop, signal } = options
  const recompute = new Recompute((update, waitedMs) => {
    const start = performance.now()
    try {
      pushes.recompute(causeOf(update), waitedMs, () => {
        const before = computedParts(catalog)
        const changes = loop.run('recompute', () => catalog.apply(update))
        options.onRecomputed(performance.now() - start, changes.length)
        return { parts: computedParts(catalog) - before, changed: changes.length }
      })
    } catch (error) {
      // A fault of ours: policies that were computed before stay in force, and the next update is taken as any other.
      options.onFault(error)
    }
  }, systemClock)
  const snapshot = feed.current()
  const config = configurator.current()
  const roots = certificates.trustBundle('workload')
  recompute.add({
    config,
    roots,
    secrets: secrets.states(),
    ...(snapshot === undefined ? {} : { spec: { snapshot, changed: [] } }),
  })
  const ends = [
    feed.subscribe((spec) => {
      recompute.add({ spec })
    }),
    endpoints.announcements((announcement) => {
      recompute.add({ endpoints: announcement })
    }),
    secrets.subscribe(() => {
      recompute.add({ secrets: secrets.states() })
    }),
    configurator.subscribe(({ after }) => {
      recompute.add({ config: after })
    }),
  ]
  try {
    for await (const announcement of certificates.subscribe(signal)) {
      if (announcement.type === 'rootChanged' || announcement.type === 'missed')
        recompute.add({ roots: certificates.trustBundle('workload') })
    }
  } finally {
    for (const end of ends) end()
    recompute.close()
  }
}

/** What an update is about, by name. */
function causeOf({ spec, endpoints, config, roots, secrets }: CatalogUpdate): ChangeCause {
  const services = (endpoints?.services ?? []).map(({ namespace, name }) => `Service/${namespace}/${name}`)
  const accounts = (endpoints?.accounts ?? []).map(({ namespace, name }) => `ServiceAccount/${namespace}/${name}`)
  const others = Object.entries({ config, roots, secrets }).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  )
  return { objects: spec?.changed ?? [], endpoints: [...new Set([...services, ...accounts])], others }
}

/** Parts that were computed since the start. */
function computedParts(catalog: MeshCatalog): number {
  let parts = 0
  for (const [query, { computed }] of catalog.counters()) if (query.endsWith('-part')) parts += computed
  return parts
}
