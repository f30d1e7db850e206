import type { MeshService, RouteMatch } from '@osm-ts/driver-api'

import type { KindMap } from '../../spec/index.js'
import type { IngressTrafficPolicy } from '../catalog-types.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import { nameKey, sortedUnique } from '../policy/keys.js'
import { objectRefOf } from '../policy/problems.js'

type IngressBackend = KindMap['IngressBackend']
type Backend = IngressBackend['spec']['backends'][number]

/** Callers from outside the mesh that IngressBackends let in to a service, one entry for each of their backends; in the order of their names. */
export function ingressPolicies(state: CatalogState, service: MeshService): readonly IngressTrafficPolicy[] {
  if (!state.settings.ingressBackends) return []
  return state.indexes.find('ingressByService', nameKey(service)).flatMap(({ namespace, name }) => {
    const ingress = state.snapshot.get('IngressBackend', namespace, name)
    const backends = ingress?.spec.backends.filter((backend) => backend.name === service.name) ?? []
    return ingress === undefined ? [] : backends.map((backend) => ingressPolicy(state, ingress, backend))
  })
}

/** Routes by host name: every request for every name, since an IngressBackend limits neither unless it names SNI hosts. */
export function ingressRoutes(policies: readonly IngressTrafficPolicy[]): ReadonlyMap<string, readonly RouteMatch[]> {
  const hosts = sortedUnique(policies.flatMap((policy) => policy.hosts))
  return new Map(hosts.map((host) => [host, policies.find((policy) => policy.hosts.includes(host))?.routes ?? []]))
}

function ingressPolicy(state: CatalogState, ingress: IngressBackend, { port, tls }: Backend): IngressTrafficPolicy {
  const { sources } = ingress.spec
  const named = (kind: string): readonly string[] =>
    sources.flatMap((source) => (source.kind === kind ? [source.name] : []))
  const overTls = port.protocol.toLowerCase() === 'https'
  const skip = tls?.skipClientCertValidation ?? false
  const hosts = overTls ? sortedUnique(tls?.sniHosts ?? []) : []
  return {
    ingress: objectRefOf('IngressBackend', ingress.metadata),
    targetPort: port.number,
    protocol: port.protocol.toLowerCase(),
    hosts: hosts.length === 0 ? ['*'] : hosts,
    routes: [{}],
    sources: sortedUnique([...named('IPRange'), ...gatewayAddresses(state, ingress)]),
    principals: sortedUnique(named('AuthenticatedPrincipal')),
    tls: !overTls ? 'none' : skip ? 'tls' : 'mtls',
  }
}

/** Addresses of the services that an IngressBackend names as sources. */
function gatewayAddresses({ endpoints }: CatalogState, { metadata, spec }: IngressBackend): readonly string[] {
  return spec.sources.flatMap(({ kind, name, namespace = metadata.namespace }) => {
    if (kind !== 'Service') return []
    return endpoints.listEndpointsForService({ namespace, name }).items.map(({ address }) => address)
  })
}
