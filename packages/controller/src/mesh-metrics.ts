import type { CertificateManager, MeshConfigurator, Metrics, SnapshotFeed } from '@osm-ts/core'
import type { VersionInfo } from '@osm-ts/program'

/** What is measured. */
export interface MeshMetricsOptions {
  readonly metrics: Metrics
  readonly configurator: MeshConfigurator
  readonly certificates: CertificateManager
  readonly feed: SnapshotFeed
  readonly version: VersionInfo
  readonly signal: AbortSignal
}

/** Metrics that are kept. */
export interface MeshMetrics {
  /** Told of every recomputation: how long it took, and for how many proxies it changed something. */
  readonly recomputed: (milliseconds: number, changed: number) => void
  /** Resolves after the signal. */
  readonly stopped: Promise<void>
}

/** Keeps the metrics of a controller about its mesh. Single proxies are what drivers count. */
export function meshMetrics(options: MeshMetricsOptions): MeshMetrics {
  const { metrics, configurator, feed, version } = options
  const recomputation = metrics.histogram(
    'osm_policy_recompute_seconds',
    'Duration of a recomputation of policies',
    [],
    [0.005, 0.02, 0.1, 0.5, 2],
  )
  const recomputed = metrics.counter('osm_policy_recomputed_count', 'Policies of proxies changed by recomputations', [])
  const broadcasts = metrics.counter(
    'osm_proxy_broadcast_event_count',
    'Recomputations that changed the policy of at least one proxy',
    [],
  )
  metrics
    .gauge('osm_version_info', 'Version of the control plane; always 1', ['version', 'build_date', 'git_commit'])
    .set({ ...version }, 1)
  const flags = metrics.gauge('osm_feature_flag_enabled', '1 for an enabled feature flag', ['feature_flag'])
  const setFlags = (): void => {
    for (const [name, on] of Object.entries(configurator.current().featureFlags))
      flags.set({ feature_flag: name }, on ? 1 : 0)
  }
  setFlags()
  configurator.subscribe(setFlags)
  const namespaces = metrics.gauge('osm_resource_namespace_count', 'Namespaces of the mesh', [])
  const setNamespaces = (): void => namespaces.set({}, feed.current()?.namespaces().length ?? 0)
  setNamespaces()
  const queue = metrics.gauge('osm_events_queued', 'Changes of objects that wait for a recomputation', [])
  let queued = 0
  queue.set({}, queued)
  feed.subscribe(({ changed }) => {
    queued += changed.length
    queue.set({}, queued)
    if (changed.some((key) => key.startsWith('Namespace/'))) setNamespaces()
  })
  recomputed.inc({}, 0)
  broadcasts.inc({}, 0)
  return {
    recomputed: (milliseconds, changed) => {
      queued = 0
      queue.set({}, queued)
      recomputation.observe({}, milliseconds / 1000)
      recomputed.inc({}, changed)
      if (changed > 0) broadcasts.inc({})
    },
    stopped: countCertificates(options),
  }
}

async function countCertificates({ metrics, certificates, signal }: MeshMetricsOptions): Promise<void> {
  const issued = metrics.counter('osm_cert_issued_count', 'Certificates issued or renewed', [])
  issued.inc({}, 0)
  for await (const announcement of certificates.subscribe(signal)) {
    if (announcement.type === 'issued' || announcement.type === 'rotated') issued.inc({})
  }
}
