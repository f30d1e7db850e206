import { apiVersionOf, isKubernetesError, type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'

import { meshLabels, type MeshIdentity } from '../mesh-identity.js'
import { readPreset } from './read-preset.js'

/** ConfigMap of the chart. */
const PRESET = 'preset-mesh-root-certificate'
/** OSM's name for the one that the preset makes. */
const NAME = 'osm-mesh-root-certificate'

const type = resourceTypes.MeshRootCertificate

/**
 * Makes the MeshRootCertificate from the preset if there is none of its name. What is there belongs to the user: it says who
 * signs, and nothing in it has a default that could be new.
 *
 * @throws KubernetesError, or OsmError with a code of `OSM_BOOTSTRAP_*`
 */
export async function ensureMeshRootCertificate(
  api: KubernetesApi,
  mesh: MeshIdentity,
  signal: AbortSignal,
): Promise<void> {
  const namespace = mesh.osmNamespace
  if ((await api.get(type, { namespace, name: NAME }, signal)) !== undefined) return
  const spec = await readPreset(api, namespace, PRESET, signal)
  const metadata = { name: NAME, namespace, labels: meshLabels(mesh, 'osm-bootstrap') }
  try {
    await api.create(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata, spec }, { signal })
  } catch (error) {
    // Another replica was faster.
    if (!isKubernetesError(error) || !error.conflict) throw error
  }
}
