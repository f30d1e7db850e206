import { X509Certificate } from 'node:crypto'

import { type DebugRequest, type DebugResponse, isOsmError, type MeshService } from '@osm-ts/driver-api'
import {
  allKinds,
  atOnce,
  type Authority,
  type CertificateManager,
  type CertificateProvider,
  type DriverHost,
  type DriverState,
  inTurns,
  type MeshConfigurator,
  type MeshCatalog,
  type MeshObject,
  objectRef,
  type Problem,
  type ProxyStatus,
  type PushLog,
  type Snapshot,
  type Steps,
  withoutSecrets,
  type ConnectedSidecars,
} from '@osm-ts/core'

import type { EndpointsPlugins } from './endpoints-plugins.js'
import type { RotationView } from './certificates/rotation-view.js'
import { type DebugPage, jsonPage, largeJsonPage } from './debug-server.js'
import { pushesPage } from './pushes-page.js'
import { endpointsPage, servicesPage } from './services-page.js'

/** Sidecars that a page names. */
const MAX_NAMED = 10

/** What the controller's own debug pages show. */
export interface DebugSources {
  readonly host: DriverHost
  readonly catalog: MeshCatalog
  readonly certificates: CertificateManager
  readonly provider: Pick<CertificateProvider, 'name' | 'faults'>
  /** PEM of roots of a Workload API; empty where there is none. */
  readonly workloadApiRoots: () => readonly string[]
  readonly plugins: Pick<EndpointsPlugins, 'states'>
  /** Absent for a provider that never changes. */
  readonly rotation: RotationView | undefined
  readonly configurator: MeshConfigurator
  readonly problems: () => Steps<readonly Problem[]>
  readonly drivers: () => readonly DriverState[]
  readonly pushes: PushLog
  /** The mesh as it is written down; undefined before it was read. */
  readonly snapshot: () => Snapshot | undefined
  /** True if the policies in force follow from everything that was read. */
  readonly settled: () => boolean
  readonly signal: AbortSignal
}

/** The controller's own debug pages, and those of the drivers. */
export function debugPages(sources: DebugSources): ReadonlyMap<string, DebugPage> {
  const large = async (page: object = {}): Promise<DebugResponse> => largeJsonPage(page, sources.signal)
  const own: Readonly<Record<string, DebugPage>> = {
    '/debug/status': async () => {
      const report = await inTurns(sources.host.reportInSteps(), sources.signal)
      return large(report === undefined ? {} : statusPage(report, sources.settled()))
    },
    '/debug/participants': async () => large(await inTurns(participantsPage(sources.catalog), sources.signal)),
    '/debug/policy': async (request) => policyPage(sources, request),
    '/debug/problems': async () => large({ problems: (await inTurns(sources.problems(), sources.signal)) ?? [] }),
    '/debug/drivers': async () => jsonPage({ drivers: sources.drivers() }),
    '/debug/pushes': async (request) => pushesPage(sources.pushes.report(), request),
    '/debug/certs': async () => large(await inTurns(certificatesPage(sources), sources.signal)),
    '/debug/config': async () => jsonPage(withoutSecrets(sources.configurator.current())),
    '/debug/namespaces': async () => large({ namespaces: sources.snapshot()?.namespaces() ?? [] }),
    '/debug/feature-flags': async () => jsonPage(sources.configurator.current().featureFlags),
    '/debug/policies': async () => large(policiesPage(sources)),
    '/debug/services': async (request) => servicesPage(sources, request),
    '/debug/endpoints': async (request) => endpointsPage(sources, request),
    '/debug/objects': async () => large(await inTurns(objectsPage(sources.snapshot()), sources.signal)),
    '/debug/counters': async () => jsonPage(Object.fromEntries(sources.catalog.counters())),
  }
  // A driver cannot replace a page that the command line and osm-dashboard read.
  return new Map([...sources.host.debugHandlers, ...Object.entries(own)])
}

/** Every proxy that there should be, and how many of them are how far. */
function statusPage({ proxies, refused }: ReturnType<DriverHost['report']>, settled: boolean): object {
  const count = (is: (status: ProxyStatus) => boolean): number => proxies.filter(is).length
  return {
    proxies,
    // No one's, as far as certificates prove.
    refused,
    // False: policies are about to change, and what was applied is of objects that have changed since.
    settled,
    summary: {
      expected: proxies.length,
      connected: count(({ connected }) => connected),
      applied: count(({ state }) => state === 'applied'),
      rejected: count(({ state }) => state === 'rejected'),
      ready: count(({ ready }) => ready),
    },
  }
}

/** Who takes part, as far as this replica knows: each proxy is connected to one. */
function* participantsPage(catalog: MeshCatalog): Steps<object> {
  const report = yield* catalog.participationInSteps()
  const { proxies, endpointsWithoutProxy } = report
  const rows: object[] = []
  for (const proxy of proxies) {
    // Services that select the workload, whether or not it is an endpoint of them now.
    rows.push({ ...proxy, memberOf: memberOf(catalog, proxy.commonName) })
    yield
  }
  return {
    proxies: rows,
    endpointsWithoutProxy,
    summary: {
      expected: proxies.length,
      participants: catalog.listParticipants(report).length,
      endpointsWithoutProxy: endpointsWithoutProxy.length,
    },
  }
}

/** None for a workload that has gone since the proxies were listed. */
function memberOf(catalog: MeshCatalog, commonName: string): readonly MeshService[] {
  try {
    return catalog.getServicesFromProxyCertificate(commonName)
  } catch (error) {
    if (isOsmError(error) && error.code === 'OSM_PROXY_UNKNOWN') return []
    throw error
  }
}

/** The policy of the proxy with a uuid; `identity`, as /debug/status has it, tells apart proxies of one uuid. */
async function policyPage(
  { catalog, signal }: Pick<DebugSources, 'catalog' | 'signal'>,
  { query: { uuid = '', identity } }: DebugRequest,
): Promise<DebugResponse> {
  const found = catalog
    .listProxies()
    .filter((proxy) => proxy.startsWith(`${uuid}/`))
    .flatMap((proxy) => catalog.policyWithOrigins(proxy) ?? [])
    .filter(({ document }) => identity === undefined || document.proxy.identity === identity)
  const [policy, another] = found
  if (policy === undefined)
    return jsonPage({ error: `no proxy ${JSON.stringify(uuid)} has a policy; /debug/status lists the proxies` }, 404)
  if (another !== undefined) {
    const identities = found.map(({ document }) => document.proxy.identity).join(', ')
    return jsonPage({ error: `several proxies have the uuid ${uuid}; add one of the identities: ${identities}` }, 400)
  }
  return largeJsonPage({ ...policy.document, origins: policy.origins }, signal)
}

/** Certificates without their keys: a certificate's own JSON form leaves them out. */
function* certificatesPage({
  certificates,
  provider,
  workloadApiRoots,
  rotation,
  host,
  catalog,
}: Pick<
  DebugSources,
  'certificates' | 'provider' | 'workloadApiRoots' | 'rotation' | 'host' | 'catalog'
>): Steps<object> {
  const sidecars = rotation === undefined ? undefined : yield* connectedSidecarsInSteps(host, catalog)
  const issued = certificates.listCertificates()
  const signed = new Map<string, number>()
  for (const { kind, issuingCA } of issued) {
    if (kind !== 'root') signed.set(issuingCA.chain, (signed.get(issuingCA.chain) ?? 0) + 1)
    yield
  }
  return {
    provider: { name: provider.name, faults: provider.faults() },
    ...(rotation === undefined || sidecars === undefined ? {} : { rotation: rotationPage(rotation, sidecars) }),
    roots: (['control-plane', 'workload'] as const).map((authority) => ({
      authority,
      root: certificates.getRootCertificate(authority),
    })),
    trusted: (['control-plane', 'workload'] as const).flatMap((authority) =>
      trustedRoots(certificates, authority, new Set(workloadApiRoots()), signed),
    ),
    certificates: issued,
  }
}

/** How far a change of the provider is on this controller. */
function rotationPage(rotation: RotationView, { count, unconfirmed }: ConnectedSidecars): unknown {
  const { signs, next, confirmed } = rotation.trustState()
  return {
    signs,
    ...(next !== undefined && { next }),
    confirmed,
    roots: Object.fromEntries(rotation.roots()),
    sidecars: { connected: count, missing: unconfirmed.length, first: unconfirmed.slice(0, MAX_NAMED) },
  }
}

/** The roots that are trusted, those that sign first, and how many certificates of this controller each has signed. */
function trustedRoots(
  certificates: DebugSources['certificates'],
  authority: Authority,
  workloadApi: ReadonlySet<string>,
  signed: ReadonlyMap<string, number>,
): readonly object[] {
  const signing = certificates.getRootCertificate(authority).chain
  return certificates.trustBundle(authority).map((pem) => {
    const { subject, fingerprint256, validTo } = new X509Certificate(pem)
    return {
      authority,
      subject: subject.replaceAll('\n', ', '),
      fingerprint: fingerprint256,
      expires: new Date(validTo).toISOString(),
      signs: pem === signing,
      ...(authority === 'workload' && pem !== signing && workloadApi.has(pem) ? { source: 'workload-api' } : {}),
      certificates: signed.get(pem) ?? 0,
    }
  })
}

function policiesPage({ catalog, snapshot: current }: Pick<DebugSources, 'catalog' | 'snapshot'>): object {
  const snapshot = current()
  const { trafficTargets, weightedServices, serviceAccounts } = catalog.listSMIPolicies()
  const kinds = [
    'TrafficTarget',
    'HTTPRouteGroup',
    'TCPRoute',
    'TrafficSplit',
    'Retry',
    'Egress',
    'IngressBackend',
    'UpstreamTrafficSetting',
  ] as const
  const objects = Object.fromEntries(
    kinds.map((kind) => [
      kind,
      (snapshot?.list(kind) ?? []).map(({ apiVersion, metadata, spec, origin }) => ({
        apiVersion,
        metadata,
        spec,
        origin,
      })),
    ]),
  )
  // What of SMI has an effect.
  return {
    ...objects,
    smi: { trafficTargets: trafficTargets.map((target) => objectRef(target)), weightedServices, serviceAccounts },
  }
}

/** Which objects were read, and of which generation: what tells whether a change has arrived. Objects themselves may hold what is no one's business. */
function* objectsPage(snapshot: Snapshot | undefined): Steps<object> {
  const objects: object[] = []
  for (const kind of allKinds())
    for (const object of (snapshot?.list(kind) ?? []) as readonly MeshObject[]) {
      objects.push({ ...objectRef(object), generation: object.metadata.generation })
      yield
    }
  return { objects }
}

/** The sidecars of this replica, and those that have not confirmed their configuration: all of them while policies are being computed. */
export function connectedSidecars(...sources: Parameters<typeof connectedSidecarsInSteps>): ConnectedSidecars {
  return atOnce(connectedSidecarsInSteps(...sources))
}

function* connectedSidecarsInSteps(
  host: Pick<DriverHost, 'reportInSteps'>,
  catalog: Pick<MeshCatalog, 'settled'>,
): Steps<ConnectedSidecars> {
  const { proxies } = yield* host.reportInSteps()
  const connected = proxies.filter((proxy) => proxy.connected)
  return {
    count: connected.length,
    unconfirmed: connected.filter(({ state }) => !catalog.settled || state !== 'applied').map(({ name }) => name),
  }
}
