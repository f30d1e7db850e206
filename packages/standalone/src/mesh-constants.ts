import { parseMeshDomains, type MeshDomains } from '@osm-ts/core'

/** Name of the mesh, as labels of namespaces have it. */
export const MESH_NAME = 'osm'
/** Namespace of the control plane. There is nothing in it but, maybe, the MeshConfig. */
export const OSM_NAMESPACE = 'osm-system'
/** Sidecar class where neither the folder nor the environment names one. */
const DEFAULT_SIDECAR_CLASS = 'envoy'
/** User that sidecars run as where they have their own user. */
export const SIDECAR_UID = 1500

/** Domains of identities and services. */
export function meshDomains(): MeshDomains {
  return parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
}

/** Name by which sidecars know the proxy control plane. */
export function controllerServerName({ clusterDomain }: MeshDomains): string {
  return `osm-controller.${OSM_NAMESPACE}.svc.${clusterDomain}`
}

/** What MeshConfig falls back to, of the variables that the caller has. */
export function configEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const own = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[0].startsWith('OSM_'),
  )
  return { OSM_DEFAULT_SIDECAR_CLASS: DEFAULT_SIDECAR_CLASS, ...Object.fromEntries(own) }
}
