import { allKinds, type Kind, kindDefinitions } from '@osm-ts/core'
import type { Selection } from '../api.js'

/** Kinds that are followed namespace by namespace, or that no cluster has. */
const others: ReadonlySet<Kind> = new Set<Kind>([
  'Namespace',
  'Service',
  'ServiceAccount',
  'Workload',
  'WorkloadInstance',
])

/** The custom resources that a mesh reads, and which of their objects. */
export function followedKinds(
  osmNamespace: string,
  configName: string,
): readonly { readonly kind: Kind; readonly selection: Selection; readonly inControlPlane: boolean }[] {
  return allKinds()
    .filter((kind) => !others.has(kind))
    .map((kind) => {
      if (kind === 'MeshConfig') {
        const selection = { namespace: osmNamespace, fieldSelector: `metadata.name=${configName}` }
        return { kind, selection, inControlPlane: true }
      }
      if (kind === 'MeshRootCertificate') return { kind, selection: { namespace: osmNamespace }, inControlPlane: true }
      return { kind, selection: {}, inControlPlane: kindDefinitions[kind].scope === 'Cluster' }
    })
}
