import { theControlPlane } from '../kubernetes/control-planes.js'
import type { FolderAssumptions } from '../spec/load-folder.js'
import type { MeshModel } from '../spec/load-mesh-model.js'
import type { MeshSource } from './mesh-source.js'

/** Reads the objects of a running mesh once, with what is assumed of them. Workloads of a cluster are those that run. */
export async function loadRunningMesh(
  source: MeshSource,
  signal: AbortSignal,
  assumptions: FolderAssumptions,
): Promise<MeshModel> {
  if (source.kind === 'local') {
    const { loadFolder, standaloneNaming } = await import('../spec/load-folder.js')
    return await loadFolder(source.mesh.folder, standaloneNaming, signal, assumptions)
  }
  const { loadCluster } = await import('../kubernetes/load-cluster.js')
  return await loadCluster(source.cluster, await theControlPlane(source.cluster), assumptions.change)
}
