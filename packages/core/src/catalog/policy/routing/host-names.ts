import type { MeshService } from '@osm-ts/driver-api'

import type { ClusterDomain } from '../../../identity/index.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { settingInputs } from '../../inputs/inputs.js'
import { nameKey } from '../parts/keys.js'
import { ANY_INSTANCE, calledService, podServices, serviceModel } from '../upstreams/services.js'

/** Host names of a service port, and those that another service holds. */
export interface HostNames {
  /** Without ports and without the short one; sorted. */
  readonly hosts: readonly string[]
  /** Holds in the own namespace only. */
  readonly shortHost: string
  /** Names that were left out, with the service that holds each. */
  readonly taken: readonly { readonly host: string; readonly owner: MeshService }[]
}

/**
 * Host names by which clients call a service: `svc.ns`, `svc.ns.svc`, then one label of the cluster domain more each, as a resolver's search list
 * makes them.
 *
 * An instance of a headless service is called `<hostname>.<service>`, and `<service>.<namespace>` is what a service is called: when the two meet on one
 * port, the service holds. Its name must not be taken over by anyone who may name instances elsewhere.
 */
export function hostNames(context: QueryContext<CatalogState>, service: MeshService, port: number): HostNames {
  const { clusterDomain } = context.get(settingInputs.domains, '')
  const { name, namespace } = service
  const { hostname, parent } = calledService(service)
  // It is called by addresses alone.
  if (hostname === ANY_INSTANCE)
    return { hosts: [], shortHost: `any-instance.${parent.name}.${namespace}.invalid`, taken: [] }
  const all = allHosts(service, clusterDomain)
  if (hostname === undefined) return { hosts: all, shortHost: name, taken: [] }
  const taken = [name, ...all].flatMap((host) => {
    const owner = serviceCalled(host, clusterDomain)
    const holds = owner !== undefined && nameKey(owner) !== nameKey(service) && hasPort(context, owner, port)
    return holds ? [{ host, owner }] : []
  })
  const lost = new Set(taken.map(({ host }) => host))
  // There must be a short name; where it is taken, one under a domain that never resolves (RFC 6761).
  const shortHost = lost.has(name) ? `${name}.${namespace}.invalid` : name
  return { hosts: all.filter((host) => !lost.has(host)), shortHost, taken }
}

function allHosts({ name, namespace }: MeshService, clusterDomain: ClusterDomain): readonly string[] {
  const labels = clusterDomain.split('.')
  const domains = labels.map((_, index) => `svc.${labels.slice(0, index + 1).join('.')}`)
  return [`${name}.${namespace}`, ...['svc', ...domains].map((domain) => `${name}.${namespace}.${domain}`)].sort()
}

/** The service, no instance of one, that has this host name; undefined if it can be none. */
function serviceCalled(host: string, clusterDomain: ClusterDomain): MeshService | undefined {
  const [name, namespace, ...rest] = host.split('.')
  if (name === undefined || namespace === undefined) return undefined
  const service = { namespace, name }
  return rest.length === 0 || allHosts(service, clusterDomain).includes(host) ? service : undefined
}

/**
 * The service of the mesh, or the instance of a headless one, that a host name stands for where clients are in a namespace; undefined if it is no one of
 * the mesh.
 */
export function meshServiceCalled(
  context: QueryContext<CatalogState>,
  host: string,
  readers: string,
): MeshService | undefined {
  const { clusterDomain } = context.get(settingInputs.domains, '')
  const [first = '', second, third] = host.split('.')
  const full = [
    ...(second === undefined ? [] : [{ namespace: second, name: first }]),
    ...(second === undefined || third === undefined ? [] : [{ namespace: third, name: `${first}.${second}` }]),
  ].filter((service) => allHosts(service, clusterDomain).includes(host))
  return [...full, { namespace: readers, name: host }].find((service) => isCalled(context, service))
}

function isCalled(context: QueryContext<CatalogState>, service: MeshService): boolean {
  const { parent, hostname } = calledService(service)
  if (context.get(serviceModel, parent) === undefined) return false
  return hostname === undefined || context.get(podServices, parent).some((pod) => pod.hostname === hostname)
}

function hasPort(context: QueryContext<CatalogState>, service: MeshService, port: number): boolean {
  return context.get(serviceModel, service)?.ports.some((candidate) => candidate.port === port) ?? false
}

/** Every host name of a service, the short one included; sorted. */
export function servedHosts(context: QueryContext<CatalogState>, service: MeshService): readonly string[] {
  const { clusterDomain } = context.get(settingInputs.domains, '')
  return [service.name, ...allHosts(service, clusterDomain)].sort()
}
