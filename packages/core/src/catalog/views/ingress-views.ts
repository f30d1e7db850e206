import type { MeshService } from '@osm-ts/driver-api'
import type { RouteMatch } from '@osm-ts/driver-api/policy'

import type { IngressTrafficPolicy } from '../catalog-types.js'
import { accessAnalysis, type AccessBackend } from '../policy/ingress/access-objects.js'
import { nameKey, sortedUnique } from '../policy/parts/keys.js'
import type { PolicyComputation } from '../policy-computation.js'

/** Callers from outside the mesh that IngressBackends let in to a service, one entry for each of their backends; in the order of their names. */
export function ingressPolicies(computation: PolicyComputation, service: MeshService): readonly IngressTrafficPolicy[] {
  const names = computation.state?.indexes.find('ingressByService', nameKey(service)) ?? []
  const held = new Set<number>()
  return names.flatMap((name) =>
    (computation.read(accessAnalysis, { kind: 'IngressBackend', ...name })?.backends ?? [])
      .filter((backend) => backend.service === service.name)
      .flatMap((backend) => {
        // The first object that names a port has it.
        if (held.has(backend.targetPort)) return []
        held.add(backend.targetPort)
        return ingressPolicy(backend)
      }),
  )
}

/** Routes by host name, of all policies that are open to it. A policy without SNI names is open to every name. */
export function ingressRoutes(policies: readonly IngressTrafficPolicy[]): ReadonlyMap<string, readonly RouteMatch[]> {
  const hosts = sortedUnique(policies.flatMap((policy) => policy.hosts))
  return new Map(hosts.map((host) => [host, policies.find((policy) => policy.hosts.includes(host))?.routes ?? []]))
}

function ingressPolicy({ object, targetPort, opening }: AccessBackend): readonly IngressTrafficPolicy[] {
  if (opening === undefined) return []
  const { protocol, tls, serverNames, sources, principals, matches } = opening
  return [
    {
      ingress: object,
      targetPort,
      protocol: tls === 'none' ? protocol : 'https',
      hosts: serverNames.length === 0 ? ['*'] : serverNames,
      routes: matches,
      sources,
      principals,
      tls,
    },
  ]
}
