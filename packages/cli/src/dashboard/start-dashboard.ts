import type { CliContext } from '../cli-context.js'
import { loadRunningMesh } from '../commands/load-running-mesh.js'
import { debugApiOf, type MeshSource } from '../commands/mesh-source.js'
import type { DebugApi } from '../state/debug-api.js'
import { shortPath } from '../spec/short-places.js'
import type { WatchedMesh } from './mesh-watch.js'
import { metricsPages } from './metrics-pages.js'
import { type Dashboard, serveDashboard } from './dashboard-server.js'
import { readPageFiles } from './page-files.js'
import { prometheusTraffic } from './prometheus-traffic.js'
import { sidecarTraffic } from './sidecar-traffic.js'

/**
 * Serves the dashboard of a running mesh until the signal aborts.
 *
 * @param prometheus - where traffic is read in place of the sidecars
 * @throws OsmError if the files of the page are missing, the port is in use, or the Prometheus does not answer
 */
export async function startDashboard(
  { cwd, version, programFolder }: Pick<CliContext, 'cwd' | 'version' | 'programFolder'>,
  source: MeshSource,
  { port, prometheus, signal }: { readonly port: number; readonly prometheus?: URL; readonly signal: AbortSignal },
): Promise<Dashboard> {
  return serveDashboard({
    watched: await watchedMesh({ cwd, version }, source, { ...(prometheus !== undefined && { prometheus }), signal }),
    files: await readPageFiles(programFolder),
    port,
    signal,
  })
}

/** How a running mesh is read. */
export async function watchedMesh(
  { cwd, version }: Pick<CliContext, 'cwd' | 'version'>,
  source: MeshSource,
  { prometheus, signal }: { readonly prometheus?: URL; readonly signal: AbortSignal },
): Promise<WatchedMesh> {
  const title =
    source.kind === 'local'
      ? shortPath(source.mesh.folder, cwd)
      : `control plane in namespace ${source.cluster.osmNamespace}`
  const policy: DebugApi['policy'] = async (proxy) => (await debugApiOf(source, signal)).policy(proxy)
  const now = (): number => Date.now()
  return {
    load: (assumptions) => loadRunningMesh(source, signal, assumptions),
    openApi: () => debugApiOf(source, signal),
    policy,
    traffic:
      prometheus === undefined
        ? sidecarTraffic(metricsPages(source, policy, signal), now)
        : await prometheusTraffic(prometheus, signal),
    cwd,
    mesh: { title, version },
    now,
  }
}
