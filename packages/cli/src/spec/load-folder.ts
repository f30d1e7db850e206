import { SnapshotEndpointsProvider, SnapshotFeed, standalonePreset, YamlFolderSource } from '@osm-ts/core'

import { loadMeshModel, type MeshNaming, type MeshModel } from './load-mesh-model.js'

/** Names of a mesh that runs without Kubernetes. */
export const standaloneNaming = {
  meshName: 'osm',
  osmNamespace: 'osm-system',
  trustDomain: 'cluster.local',
  clusterDomain: 'cluster.local',
} as const satisfies MeshNaming

/** Reads a folder once. Nothing is started. */
export async function loadFolder(folder: string, naming: MeshNaming, signal: AbortSignal): Promise<MeshModel> {
  const reading = new AbortController()
  const feed = new SnapshotFeed([new YamlFolderSource({ folder })])
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
