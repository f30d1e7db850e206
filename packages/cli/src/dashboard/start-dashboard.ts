import type { CliContext } from '../cli-context.js'
import { loadRunningMesh } from '../commands/load-running-mesh.js'
import { debugApiOf, type MeshSource } from '../commands/mesh-source.js'
import type { DebugApi } from '../state/debug-api.js'
import { shortPath } from '../spec/short-places.js'
import { metricsPages } from './metrics-pages.js'
import { type Dashboard, serveDashboard } from './dashboard-server.js'
import { readPageFiles } from './page-files.js'

/**
 * Serves the dashboard of a running mesh until the signal aborts.
 *
 * @throws OsmError if the files of the page are missing or the port is in use
 */
export async function startDashboard(
  { cwd, version, programFolder }: Pick<CliContext, 'cwd' | 'version' | 'programFolder'>,
  source: MeshSource,
  { port, signal }: { readonly port: number; readonly signal: AbortSignal },
): Promise<Dashboard> {
  const title =
    source.kind === 'local'
      ? shortPath(source.mesh.folder, cwd)
      : `control plane in namespace ${source.cluster.osmNamespace}`
  const policy: DebugApi['policy'] = async (proxy) => (await debugApiOf(source, signal)).policy(proxy)
  return serveDashboard({
    watched: {
      load: (assumptions) => loadRunningMesh(source, signal, assumptions),
      openApi: () => debugApiOf(source, signal),
      policy,
      metrics: metricsPages(source, policy, signal),
      cwd,
      mesh: { title, version },
      now: () => Date.now(),
    },
    files: await readPageFiles(programFolder),
    port,
    signal,
  })
}
