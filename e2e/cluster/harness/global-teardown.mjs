import { rmSync } from 'node:fs'
import { clusterCommand } from './cluster-command.mjs'

/** Takes down the cluster of the run, if the run has made it; see global-setup.mjs. */
export default async function globalTeardown() {
  const { osmCluster, osmClusterFolder } = globalThis
  if (osmClusterFolder !== undefined) rmSync(osmClusterFolder, { recursive: true, force: true })
  if (osmCluster !== undefined) (await clusterCommand('down', osmCluster.options)).succeeded()
}
