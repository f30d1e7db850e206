import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import type { Answer, Endpoint } from '../../endpoints/index.js'
import { proxyKeyOfInstance, type ProxyKey } from '../../identity/index.js'
import type { SecretState } from '../../secrets/index.js'
import { sameContent, type GrantKind, type Kind, type KindMap, type ReferenceGrantSpec } from '../../spec/index.js'
import { deepEqual, defineInput, sameItems, textKey, type Input } from '../incremental/index.js'
import { nameKey, sameName, type NamespacedName } from '../policy/parts/keys.js'
import type { CatalogSettings } from './catalog-settings.js'
import type { CatalogState } from './catalog-state.js'
import type { IndexName } from './policy-indexes.js'

type StateInput<K, V> = Input<CatalogState, K, V>
type Names = readonly NamespacedName[]

const sameNames = (a: Names, b: Names): boolean => sameItems(a, b, sameName)
const sameObject = (a: KindMap[Kind] | undefined, b: KindMap[Kind] | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && sameContent(a, b))

function objects<K extends Kind>(kind: K): StateInput<NamespacedName, KindMap[K] | undefined> {
  return defineInput({
    name: `object:${kind}`,
    keyOf: nameKey,
    read: ({ snapshot }, { namespace, name }) => snapshot.get(kind, namespace, name),
    equal: sameObject,
  })
}

function namesOf(kind: Kind): StateInput<'', Names> {
  return defineInput<CatalogState, '', Names>({
    name: `names:${kind}`,
    keyOf: textKey,
    read: ({ snapshot }) => snapshot.list(kind).map(toName),
    equal: sameNames,
  })
}

function index(name: IndexName): StateInput<string, Names> {
  return defineInput({
    name: `index:${name}`,
    keyOf: textKey,
    read: ({ indexes }, key) => indexes.find(name, key),
    equal: sameNames,
  })
}

function toName({ metadata: { namespace, name } }: KindMap[Kind]): NamespacedName {
  return { namespace, name }
}

/** Objects by kind. Where an object is written down and its status are not part of it. */
export const objectInputs = {
  Service: objects('Service'),
  TrafficTarget: objects('TrafficTarget'),
  HTTPRouteGroup: objects('HTTPRouteGroup'),
  TCPRoute: objects('TCPRoute'),
  TrafficSplit: objects('TrafficSplit'),
  HTTPRoute: objects('HTTPRoute'),
  GRPCRoute: objects('GRPCRoute'),
  GatewayTCPRoute: objects('GatewayTCPRoute'),
  TLSRoute: objects('TLSRoute'),
  IngressBackend: objects('IngressBackend'),
  AccessControl: objects('AccessControl'),
  Retry: objects('Retry'),
  Telemetry: objects('Telemetry'),
  ExtensionService: objects('ExtensionService'),
  UpstreamTrafficSetting: objects('UpstreamTrafficSetting'),
  Egress: objects('Egress'),
  EgressGateway: objects('EgressGateway'),
  ServiceImport: objects('ServiceImport'),
  Namespace: objects('Namespace'),
  Plugin: objects('Plugin'),
  PluginChain: objects('PluginChain'),
  PluginConfig: objects('PluginConfig'),
  WorkloadInstance: objects('WorkloadInstance'),
} as const satisfies { readonly [K in Kind]?: StateInput<NamespacedName, KindMap[K] | undefined> }

/** A kind whose objects queries may read. */
export type ObjectInputKind = keyof typeof objectInputs

/** Names of all objects of a kind. */
export const nameInputs = {
  Service: namesOf('Service'),
  TrafficTarget: namesOf('TrafficTarget'),
  HTTPRouteGroup: namesOf('HTTPRouteGroup'),
  TrafficSplit: namesOf('TrafficSplit'),
  HTTPRoute: namesOf('HTTPRoute'),
  GRPCRoute: namesOf('GRPCRoute'),
  GatewayTCPRoute: namesOf('GatewayTCPRoute'),
  TLSRoute: namesOf('TLSRoute'),
  IngressBackend: namesOf('IngressBackend'),
  AccessControl: namesOf('AccessControl'),
  Retry: namesOf('Retry'),
  Egress: namesOf('Egress'),
  EgressGateway: namesOf('EgressGateway'),
  ServiceExport: namesOf('ServiceExport'),
  ServiceImport: namesOf('ServiceImport'),
  PluginChain: namesOf('PluginChain'),
  PluginConfig: namesOf('PluginConfig'),
  WorkloadInstance: namesOf('WorkloadInstance'),
} as const satisfies { readonly [K in Kind]?: StateInput<'', Names> }

/** A kind whose names queries may list. */
export type NameInputKind = keyof typeof nameInputs

/** Objects by what they refer to. */
export const indexInputs: { readonly [N in IndexName]: StateInput<string, Names> } = {
  targetsByDestination: index('targetsByDestination'),
  targetsBySource: index('targetsBySource'),
  splitsByApex: index('splitsByApex'),
  splitsByBackend: index('splitsByBackend'),
  routesByParent: index('routesByParent'),
  routesByConsumer: index('routesByConsumer'),
  routesByBackend: index('routesByBackend'),
  grpcRoutesByParent: index('grpcRoutesByParent'),
  grpcRoutesByConsumer: index('grpcRoutesByConsumer'),
  grpcRoutesByBackend: index('grpcRoutesByBackend'),
  tcpRoutesByParent: index('tcpRoutesByParent'),
  tcpRoutesByConsumer: index('tcpRoutesByConsumer'),
  tcpRoutesByBackend: index('tcpRoutesByBackend'),
  tlsRoutesByParent: index('tlsRoutesByParent'),
  tlsRoutesByConsumer: index('tlsRoutesByConsumer'),
  tlsRoutesByBackend: index('tlsRoutesByBackend'),
  ingressByService: index('ingressByService'),
  accessByService: index('accessByService'),
  retriesBySource: index('retriesBySource'),
  egressBySource: index('egressBySource'),
  gatewaysByEgress: index('gatewaysByEgress'),
  gatewaysByService: index('gatewaysByService'),
  servicesByPort: index('servicesByPort'),
  servicesByTargetPort: index('servicesByTargetPort'),
  settingsByService: index('settingsByService'),
}

/** Names of the services of a namespace. */
export const servicesInNamespace = defineInput<CatalogState, string, Names>({
  name: 'services-in-namespace',
  keyOf: textKey,
  read: ({ snapshot }, namespace) => snapshot.byNamespace('Service', namespace).map(toName),
  equal: sameNames,
})

/** Names of the Telemetry objects of a namespace. */
export const telemetriesInNamespace = defineInput<CatalogState, string, Names>({
  name: 'telemetries-in-namespace',
  keyOf: textKey,
  read: ({ snapshot }, namespace) => snapshot.byNamespace('Telemetry', namespace).map(toName),
  equal: sameNames,
})

/** Names of the EgressGateways of a namespace. */
export const gatewaysInNamespace = defineInput<CatalogState, string, Names>({
  name: 'gateways-in-namespace',
  keyOf: textKey,
  read: ({ snapshot }, namespace) => snapshot.byNamespace('EgressGateway', namespace).map(toName),
  equal: sameNames,
})

function grants(kind: GrantKind): StateInput<string, readonly ReferenceGrantSpec[]> {
  return defineInput<CatalogState, string, readonly ReferenceGrantSpec[]>({
    name: `grants-in-namespace:${kind}`,
    keyOf: textKey,
    read: ({ snapshot }, namespace) => snapshot.byNamespace(kind, namespace).map(({ spec }) => spec),
    equal: deepEqual,
  })
}

/** What the grants of a namespace permit, by their kind. */
export const grantsInNamespace = {
  ReferenceGrant: grants('ReferenceGrant'),
  GatewayReferenceGrant: grants('GatewayReferenceGrant'),
} as const

/** Namespaces that hold services, sorted. */
export const serviceNamespaces = defineInput<CatalogState, '', readonly string[]>({
  name: 'service-namespaces',
  keyOf: textKey,
  read: ({ snapshot }) => snapshot.namespaces().filter((name) => snapshot.byNamespace('Service', name).length > 0),
  equal: sameItems,
})

/** Services that select a running instance. */
export const servicesOfInstance = defineInput<CatalogState, NamespacedName, Names>({
  name: 'services-of-instance',
  keyOf: nameKey,
  read: ({ snapshot }, { namespace, name }) => {
    const instance = snapshot.get('WorkloadInstance', namespace, name)
    return instance === undefined ? [] : snapshot.servicesSelecting(namespace, instance.metadata.labels).map(toName)
  },
  equal: sameNames,
})

/** The instance that a proxy belongs to. */
export const instanceOfProxy = defineInput<CatalogState, ProxyKey, NamespacedName | undefined>({
  name: 'instance-of-proxy',
  keyOf: textKey,
  read: ({ snapshot }, proxy) => {
    const instance = snapshot.instanceOfProxy(proxy)
    return instance && toName(instance)
  },
  equal: deepEqual,
})

/** Instances of any namespace and account that carry a sidecar uuid. */
export const instancesByUuid = defineInput<CatalogState, string, readonly ProxyClaim[]>({
  name: 'instances-by-uuid',
  keyOf: textKey,
  read: ({ snapshot }, uuid) =>
    snapshot.instancesByUuid(uuid).map((instance) => ({
      namespace: instance.metadata.namespace,
      name: instance.metadata.name,
      proxy: proxyKeyOfInstance(instance),
      createdAt: instance.spec.createdAt,
    })),
  equal: deepEqual,
})

/** An instance that carries a uuid. */
export interface ProxyClaim extends NamespacedName {
  readonly proxy: ProxyKey
  readonly createdAt: string
}

/** Endpoints of a service that take traffic, and how sure the provider is of them. */
export const endpointsOfService = defineInput<CatalogState, MeshService, Answer<Endpoint>>({
  name: 'endpoints-of-service',
  keyOf: nameKey,
  read: ({ endpoints }, service) => endpoints.listEndpointsForService(service),
  equal: deepEqual,
})

/**
 * Where the ports of a service lead, by the endpoints that are behind them: the lowest number stands for all. No one tells the names of ports in other clusters, so
 * those of the own one count where there are any.
 *
 * An input of its own, which is compared as soon as endpoints change: policies read it, and nearly all endpoints that come and go lead to the same ports. If it were computed from the
 * endpoints, each of them would have all policies of callers looked at.
 */
export const targetPortsOfService = defineInput<CatalogState, MeshService, readonly TargetOfPort[]>({
  name: 'target-ports-of-service',
  keyOf: nameKey,
  read: ({ endpoints }, service) => targetsOf(endpoints.listEndpointsForService(service).items),
  equal: deepEqual,
})

/** A port of a service, and the port of its workloads that it leads to. */
export interface TargetOfPort {
  readonly port: number
  readonly target: number
}

/** Ports of services by the endpoints behind them; sorted. */
export function targetsOf(endpoints: readonly Endpoint[]): readonly TargetOfPort[] {
  const found = new Map<number, { target: number; isLocal: boolean }>()
  for (const { servicePort, targetPort, cluster } of endpoints) {
    const isLocal = cluster === ''
    const known = found.get(servicePort)
    if (known === undefined || (isLocal && !known.isLocal)) found.set(servicePort, { target: targetPort, isLocal })
    else if (isLocal === known.isLocal) known.target = Math.min(known.target, targetPort)
  }
  return [...found].map(([port, { target }]) => ({ port, target })).sort((a, b) => a.port - b.port)
}

/** True if the provider can tell who is behind a service, if anyone is. */
export const knowsEndpoints = defineInput<CatalogState, MeshService, boolean>({
  name: 'knows-endpoints',
  keyOf: nameKey,
  read: ({ endpoints }, service) => endpoints.listEndpointsForService(service).state !== 'unknown',
})

/** True if a workload behind a service is to have a sidecar, whether or not it takes traffic now. */
export const expectsSidecars = defineInput<CatalogState, MeshService, boolean>({
  name: 'expects-sidecars',
  keyOf: nameKey,
  read: ({ snapshot }, { namespace, name }) => {
    const service = snapshot.get('Service', namespace, name)
    if (service === undefined) return false
    return snapshot.instancesOf(service).length > 0 || snapshot.workloadsOf(service).some(({ spec }) => spec.sidecar)
  },
  equal: Object.is,
})

/** Accounts behind a service. */
export const accountsOfService = defineInput<CatalogState, MeshService, readonly ServiceAccountRef[]>({
  name: 'accounts-of-service',
  keyOf: nameKey,
  read: ({ endpoints }, service) => endpoints.listIdentitiesForService(service).items,
  equal: sameNames,
})

/** Services that an account is behind. */
export const servicesOfAccount = defineInput<CatalogState, ServiceAccountRef, readonly MeshService[]>({
  name: 'services-of-account',
  keyOf: nameKey,
  read: ({ endpoints }, account) => endpoints.listServicesForIdentity(account).items,
  equal: sameNames,
})

const settingInput = <K extends keyof CatalogSettings>(key: K): StateInput<'', CatalogSettings[K]> =>
  defineInput({ name: `setting:${key}`, keyOf: textKey, read: ({ settings }) => settings[key], equal: deepEqual })

/** Settings, member by member, so that a change of one concerns only what depends on it. */
export const settingInputs: { readonly [K in keyof CatalogSettings]: StateInput<'', CatalogSettings[K]> } = {
  domains: settingInput('domains'),
  osmNamespace: settingInput('osmNamespace'),
  crossNamespace: settingInput('crossNamespace'),
  permissive: settingInput('permissive'),
  plaintextNamespaces: settingInput('plaintextNamespaces'),
  mesh: settingInput('mesh'),
  tls: settingInput('tls'),
  activeHealthChecks: settingInput('activeHealthChecks'),
  localProxyMode: settingInput('localProxyMode'),
  localDNSProxy: settingInput('localDNSProxy'),
  retries: settingInput('retries'),
  ingressBackends: settingInput('ingressBackends'),
  accessControls: settingInput('accessControls'),
  egressPolicies: settingInput('egressPolicies'),
  plugins: settingInput('plugins'),
  sidecarClass: settingInput('sidecarClass'),
  externalAuthorization: settingInput('externalAuthorization'),
  cluster: settingInput('cluster'),
  networkGateway: settingInput('networkGateway'),
}

/** Whether a Secret can be used. */
export const secretState = defineInput<CatalogState, NamespacedName, SecretState>({
  name: 'secret-state',
  keyOf: nameKey,
  read: ({ secrets }, name) =>
    secrets === undefined
      ? { usable: true }
      : (secrets.get(nameKey(name)) ?? { usable: false, fault: 'is not read yet' }),
  equal: deepEqual,
})

/** Roots that sign service certificates. */
export const trustRoots = defineInput<CatalogState, '', readonly string[]>({
  name: 'trust-roots',
  keyOf: textKey,
  read: ({ roots }) => roots,
  equal: sameItems,
})
