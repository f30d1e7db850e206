import { findControlPlanes, type ControlPlane } from '../kubernetes/control-planes.js'
import type { Cluster } from '../kubernetes/open-cluster.js'
import { listNamespaces } from '../namespaces/mesh-namespaces.js'
import { span } from '../output/style.js'
import { renderTable } from '../output/table.js'
import { smiVersionsOf } from './ask-controller.js'

/** A control plane with what belongs to it. */
export interface ListedMesh extends Pick<ControlPlane, 'meshName' | 'namespace' | 'version'> {
  /** Namespaces that are enrolled in it. */
  readonly namespaces: readonly string[]
  /** Kinds of SMI and their versions; undefined where the controller does not answer. */
  readonly smi: readonly string[] | undefined
}

/** All control planes of the cluster. */
export async function listMeshes(cluster: Cluster): Promise<readonly ListedMesh[]> {
  const planes = await findControlPlanes(cluster)
  const enrolled = await listNamespaces(cluster, undefined)
  return Promise.all(
    planes.map(async ({ meshName, namespace, version }) => ({
      meshName,
      namespace,
      version,
      namespaces: enrolled.filter(({ mesh }) => mesh === meshName).map((member) => member.namespace),
      smi: await smiVersionsOf(cluster, namespace),
    })),
  )
}

/** Both tables of `osm mesh list`, and where to look further. */
export function renderMeshes(meshes: readonly ListedMesh[], color: boolean): readonly string[] {
  if (meshes.length === 0) return ['No osm mesh control planes found']
  return [
    '',
    ...renderTable(
      [{ title: 'MESH NAME' }, { title: 'MESH NAMESPACE' }, { title: 'VERSION' }, { title: 'ADDED NAMESPACES' }],
      meshes.map(({ meshName, namespace, version, namespaces }) =>
        [meshName, namespace, version || 'Unknown', namespaces.join(',')].map((text) => span(text)),
      ),
      { color },
    ),
    '',
    ...renderTable(
      [{ title: 'MESH NAME' }, { title: 'MESH NAMESPACE' }, { title: 'SMI SUPPORTED' }],
      meshes.map(({ meshName, namespace, smi }) =>
        [meshName, namespace, smi?.join(',') ?? 'Unknown'].map((text) => span(text)),
      ),
      { color },
    ),
    '',
    'To list the OSM controller pods for a mesh, run the following command with its namespace:',
    '  kubectl get pods -n <osm-mesh-namespace> -l app=osm-controller',
  ]
}
