import {
  type CertificateManager,
  type EndpointsProvider,
  type MeshCatalog,
  type MeshConfigurator,
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
  const { catalog, endpoints, feed, configurator, certificates, secrets, signal } = options
  const recompute = new Recompute((update) => {
    const start = performance.now()
    try {
      const changes = catalog.apply(update)
      options.onRecomputed(performance.now() - start, changes.length)
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
