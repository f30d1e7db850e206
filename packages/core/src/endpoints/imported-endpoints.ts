import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import type { Snapshot } from '../snapshot/snapshot.js'
import type { KindMap } from '../spec/objects.js'
import { sortedNames, unknownLocality, type Endpoint } from './endpoint.js'

/**
 * Endpoints that other clusters offer, as far as the GlobalTrafficPolicy of the service lets traffic leave: never under Locality, which is the default;
 * beside the local ones under ActiveActive; behind them under FailOver.
 *
 * A gateway passes connections on as they are, by the server name of the service: it can neither read requests nor decide about them. One that requests a
 * path of its own can only be told by it in requests, and is left out.
 */
export function importedEndpoints(snapshot: Snapshot, { namespace, name }: MeshService): readonly Endpoint[] {
  const imported = snapshot.get('ServiceImport', namespace, name)
  const policy = snapshot.get('GlobalTrafficPolicy', namespace, name)
  if (imported === undefined || policy === undefined || policy.spec.lbType === 'Locality') return []
  return imported.spec.ports.flatMap(({ protocol, port, endpoints }) =>
    endpoints.flatMap(({ clusterKey, target }): readonly Endpoint[] => {
      const weight = weightOf(policy, clusterKey)
      if (weight === undefined || protocol !== 'TCP' || !isPassedThrough(target)) return []
      return [
        {
          address: target.ip,
          port: target.port,
          servicePort: port,
          targetPort: port,
          weight,
          priority: policy.spec.lbType === 'FailOver' ? 1 : 0,
          account: accountOf(imported),
          sidecar: undefined,
          hostname: undefined,
          locality: unknownLocality,
          cluster: clusterKey,
          isAddressWritten: true,
        },
      ]
    }),
  )
}

/** Identities of what other clusters offer under the name of a service. */
export function importedAccounts(snapshot: Snapshot, service: MeshService): readonly ServiceAccountRef[] {
  return sortedNames(importedEndpoints(snapshot, service).flatMap(({ account }) => account ?? []))
}

/** Services that other clusters offer under an identity. */
export function importedServices(snapshot: Snapshot, account: ServiceAccountRef): readonly MeshService[] {
  return snapshot
    .byNamespace('ServiceImport', account.namespace)
    .map(({ metadata: { namespace, name } }) => ({ namespace, name }))
    .filter((service) => importedAccounts(snapshot, service).some(({ name }) => name === account.name))
}

/** True if the gateway requests no path. */
export function isPassedThrough({ path }: { readonly path: string }): boolean {
  return path === '' || path === '/'
}

/** Weight of a cluster, or undefined if the policy lists clusters without this one. Zero means unset. */
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
