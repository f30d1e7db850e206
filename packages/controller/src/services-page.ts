import type { DebugRequest, DebugResponse, MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import {
  inTurns,
  type MeshCatalog,
  objectRef,
  serviceIdentity,
  type ServiceName,
  type ServiceReport,
} from '@osm-ts/core'

import { jsonPage, largeJsonPage } from './debug-server.js'
import type { EndpointsPlugins } from './endpoints-plugins.js'

/** All services, or with `?service=<namespace>/<name>` what the mesh says of one. */
export async function servicesPage(
  { catalog, signal }: Pick<EndpointsSources, 'catalog' | 'signal'>,
  { query: { service: name } }: DebugRequest,
): Promise<DebugResponse> {
  const spec = catalog.getSMISpec()
  const topology = spec.topology()
  if (name === undefined) {
    const inPolicy = new Set<string>(topology.listServices())
    const services = spec.listServices().map(({ metadata: { namespace, name: own } }) => ({ namespace, name: own }))
    const rows = services.map((service) => ({ ...service, inPolicy: inPolicy.has(textOf(service)) }))
    return largeJsonPage({ services: rows }, signal)
  }
  const { service, exists } = topology.getService(name as ServiceName) // another form finds nothing
  if (!exists || service === undefined)
    return jsonPage({ error: `the mesh has no Service ${JSON.stringify(name)}; /debug/services lists them` }, 404)
  const { metadata } = service
  return largeJsonPage(reportOf(catalog, { namespace: metadata.namespace, name: metadata.name }), signal)
}

/** What {@link endpointsPage} reads. */
interface EndpointsSources {
  readonly catalog: MeshCatalog
  readonly plugins: Pick<EndpointsPlugins, 'states'>
  readonly signal: AbortSignal
}

/** Endpoints that proxies of an account should know: `?account=<namespace>/<name>`; without it, the providers of endpoints. */
export async function endpointsPage(
  { catalog, plugins, signal }: EndpointsSources,
  { query: { account } }: DebugRequest,
): Promise<DebugResponse> {
  if (account === undefined) {
    const states = new Map(plugins.states().map((state) => [state.id, state]))
    return jsonPage({ providers: catalog.listEndpointsProviders().map(({ id }) => states.get(id) ?? { id }) })
  }
  const [namespace = '', name = ''] = account.split('/')
  return largeJsonPage((await inTurns(catalog.listEndpoints({ namespace, name }), signal)) ?? {}, signal)
}

function reportOf(catalog: MeshCatalog, service: MeshService): ServiceReport {
  const accounts = catalog.listServiceAccountsForService(service)
  const limits = catalog.getSMISpec().getBackpressurePolicy(service)
  const { weight, upstreams } = catalog.getWeightedClusterForService(service)
  return {
    service,
    accounts: accounts.map((account) => ({
      identity: serviceIdentity(account),
      services: catalog.getServicesForServiceAccount(account).map(textOf),
      inbound: catalog.listAllowedInboundServiceAccounts(account).map(identityOf),
      outbound: catalog.listAllowedOutboundServiceAccounts(account).map(identityOf),
    })),
    inboundServices: catalog.listAllowedInboundServices(service).map(textOf),
    trafficPolicies: catalog.listTrafficPolicies(service),
    hosts: catalog.getResolvableHostnamesForUpstreamService(service, service),
    weight,
    upstreams,
    endpoints: catalog
      .listEndpointsForService(service)
      .map(({ address, port, account }) => ({ address, port, ...(account && { identity: identityOf(account) }) })),
    ...(limits && { backpressure: objectRef(limits) }),
    ingress: {
      routes: Object.fromEntries(catalog.getIngressRoutesPerHost(service)),
      policies: ingressOf(catalog, service, accounts),
    },
  }
}

/** Each account behind a service lets in the same. */
function ingressOf(
  catalog: MeshCatalog,
  service: MeshService,
  [account]: readonly ServiceAccountRef[],
): ServiceReport['ingress']['policies'] {
  return account === undefined ? [] : catalog.getIngressPoliciesForService(service, account)
}

function identityOf(account: ServiceAccountRef): string {
  return serviceIdentity(account)
}

function textOf({ namespace, name }: MeshService): string {
  return `${namespace}/${name}`
}
