import { SnapshotEndpointsProvider, SnapshotFeed, standalonePreset, YamlFolderSource } from '@osm-ts/core'

import { understandMesh, type MeshNaming, type UnderstoodMesh } from './understand-mesh.js'

/** Names of a mesh that runs without Kubernetes. */
export const standaloneNaming = {
  meshName: 'osm',
  osmNamespace: 'osm-system',
  trustDomain: 'cluster.local',
  clusterDomain: 'cluster.local',
} as const satisfies MeshNaming

/** Reads a folder once. Nothing is started. */
export async function loadFolder(folder: string, naming: MeshNaming, signal: AbortSignal): Promise<UnderstoodMesh> {
  const reading = new AbortController()
  const feed = new SnapshotFeed([new YamlFolderSource({ folder })])
  try {
    await feed.start(AbortSignal.any([signal, reading.signal]))
    return understandMesh(feed, {
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
