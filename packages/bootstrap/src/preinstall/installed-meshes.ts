import { type KubernetesApi, listAll, resourceTypes } from '@osm-ts/kubernetes'

/** A mesh whose controller is in the cluster. */
export interface InstalledMesh {
  readonly meshName: string
  readonly namespace: string
  /** It was installed so that no other mesh may come. */
  readonly enforcesSingleMesh: boolean
}

/** Meshes of the cluster, those of OSM and osm-edge included: all label the Deployment of their controller alike. */
export async function installedMeshes(api: KubernetesApi, signal: AbortSignal): Promise<readonly InstalledMesh[]> {
  const deployments = await listAll(api, resourceTypes.Deployment, { labelSelector: 'app=osm-controller' }, signal)
  return deployments.map(({ metadata }) => ({
    meshName: metadata.labels?.meshName ?? metadata.labels?.['app.kubernetes.io/instance'] ?? '(unnamed)',
    namespace: metadata.namespace ?? '',
    enforcesSingleMesh: metadata.labels?.enforceSingleMesh === 'true',
  }))
}

/** `mesh "a" in namespace b`. */
export function describeMesh({ meshName, namespace }: InstalledMesh): string {
  return `mesh ${JSON.stringify(meshName)} in namespace ${namespace}`
}
