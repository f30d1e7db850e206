import type { Command } from 'commander'

import { theControlPlane } from '../kubernetes/control-planes.js'
import type { FolderAssumptions } from '../spec/load-folder.js'
import type { MeshModel } from '../spec/load-mesh-model.js'
import type { CommandHost } from './cli-command.js'
import { type MeshSource, meshSourceOf, type MeshSourceFlags } from './mesh-source.js'
import { meshFolder } from './run-options.js'

/** Reads a mesh once. */
export type MeshLoader = (assumptions?: FolderAssumptions) => Promise<MeshModel>

/**
 * What reads the mesh of the folder that is named, or else the running one.
 *
 * @throws OsmError `OSM_CLI_MESH_MISSING` if there is none anywhere
 */
export async function meshLoaderOf(
  host: CommandHost,
  { folder, ...flags }: MeshSourceFlags & { readonly folder?: string },
  command: Command,
): Promise<MeshLoader> {
  const { cwd, signal } = host.context
  if (folder === undefined) {
    const source = await meshSourceOf(host, flags, command)
    return (assumptions = {}) => loadRunningMesh(source, signal, assumptions)
  }
  const { loadFolder, standaloneNaming } = await import('../spec/load-folder.js')
  const absolute = meshFolder(cwd, folder).folder
  return (assumptions) => loadFolder(absolute, standaloneNaming, signal, assumptions)
}

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
