import {
  type ObjectSource,
  SnapshotEndpointsProvider,
  SnapshotFeed,
  standalonePreset,
  YamlFolderSource,
} from '@osm-ts/core'

import { assumedInstances } from './assumed-endpoints.js'
import { loadMeshModel, type MeshNaming, type MeshModel } from './load-mesh-model.js'
import { type ProposedChange, sourcesWith } from './proposed-change.js'

/** Names of a mesh that runs without Kubernetes. */
export const standaloneNaming = {
  meshName: 'osm',
  osmNamespace: 'osm-system',
  trustDomain: 'cluster.local',
  clusterDomain: 'cluster.local',
} as const satisfies MeshNaming

/** What is assumed of a folder that is read. */
export interface FolderAssumptions {
  /** What a user is about to change in it. */
  readonly change?: ProposedChange | undefined
  /** True: each Workload runs, so that it has a proxy with a policy. */
  readonly running?: boolean
}

/** Reads a folder, or another source, once. Nothing is started. */
export async function loadFolder(
  folder: string | ObjectSource,
  naming: MeshNaming,
  signal: AbortSignal,
  { change, running = false }: FolderAssumptions = {},
): Promise<MeshModel> {
  const reading = new AbortController()
  const sources = sourcesWith(typeof folder === 'string' ? new YamlFolderSource({ folder }) : folder, change)
  const feed = new SnapshotFeed(running ? [...sources, assumedInstances(sources)] : sources)
  try {
    await feed.start(AbortSignal.any([signal, reading.signal]))
    return loadMeshModel(feed, {
      naming,
      // As the controller of a folder has it: every namespace takes part that is not ignored.
      enrolment: { mode: 'all' },
      endpointsProviders: [new SnapshotEndpointsProvider({ id: 'folder', ...feed.reader() })],
      preset: standalonePreset,
      anyNamespace: true,
    })
  } finally {
    reading.abort()
  }
}
