import type { MeshService } from '@osm-ts/driver-api'

import type { Snapshot } from '../snapshot/snapshot.js'
import type { KindMap } from '../spec/objects.js'
import { unknownLocality, type Endpoint } from './endpoint.js'

/**
 * Endpoints that other clusters offer, as far as the GlobalTrafficPolicy of the service lets traffic leave: never under
 * Locality, which is the default; always under ActiveActive; under FailOver while there is no local endpoint.
 */
export function importedEndpoints(snapshot: Snapshot, service: MeshService, hasLocal: boolean): readonly Endpoint[] {
  const { namespace, name } = service
  const imported = snapshot.get('ServiceImport', namespace, name)
  const policy = snapshot.get('GlobalTrafficPolicy', namespace, name)
  if (imported === undefined || policy === undefined || policy.spec.lbType === 'Locality') return []
  if (policy.spec.lbType === 'FailOver' && hasLocal) return []
  return imported.spec.ports.flatMap((port) =>
    port.endpoints.flatMap(({ clusterKey, target }) => {
      const weight = weightOf(policy, clusterKey)
      if (weight === undefined) return []
      return [
        {
          address: target.ip,
          port: target.port,
          servicePort: port.port,
          targetPort: port.port,
          weight,
          account: accountOf(imported),
          sidecar: undefined,
          hostname: undefined,
          locality: unknownLocality,
          cluster: clusterKey,
          path: target.path,
        },
      ]
    }),
  )
}

/** Weight of a cluster, or undefined if the policy names clusters and this is none of them. Nought means "not said". */
function weightOf({ spec }: KindMap['GlobalTrafficPolicy'], cluster: string): number | undefined {
  const targets = spec.targets ?? []
  if (targets.length === 0) return 100
  const target = targets.find(({ clusterKey }) => clusterKey === cluster)
  return target === undefined ? undefined : target.weight || 100
}

function accountOf({ metadata, spec }: KindMap['ServiceImport']): Endpoint['account'] {
  const name = spec.serviceAccountName
  return name === undefined || name === '' || name === '*' ? undefined : { namespace: metadata.namespace, name }
}
