import { X509Certificate } from 'node:crypto'

import { type DebugRequest, type DebugResponse, isOsmError, type MeshService } from '@osm-ts/driver-api'
import {
  allKinds,
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
import { type DebugPage, jsonPage } from './debug-server.js'
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
  const own: Readonly<Record<string, DebugPage>> = {
    '/debug/status': async () => {
      const report = await inTurns(sources.host.reportInSteps(), sources.signal)
      return jsonPage(report === undefined ? {} : statusPage(report, sources.settled()))
    },
    '/debug/participants': async () =>
      jsonPage((await inTurns(participantsPage(sources.catalog), sources.signal)) ?? {}),
    '/debug/policy': async (request) => policyPage(sources.catalog, request),
    '/debug/problems': async () => jsonPage({ problems: (await inTurns(sources.problems(), sources.signal)) ?? [] }),
    '/debug/drivers': async () => jsonPage({ drivers: sources.drivers() }),
    '/debug/pushes': async (request) => pushesPage(sources.pushes.report(), request),
    '/debug/certs': async () => jsonPage(certificatesPage(sources)),
    '/debug/config': async () => jsonPage(withoutSecrets(sources.configurator.current())),
    '/debug/namespaces': async () => jsonPage({ namespaces: sources.snapshot()?.namespaces() ?? [] }),
    '/debug/feature-flags': async () => jsonPage(sources.configurator.current().featureFlags),
    '/debug/policies': async () => jsonPage(policiesPage(sources)),
    '/debug/services': async (request) => servicesPage(sources.catalog, request),
    '/debug/endpoints': async (request) => endpointsPage(sources, request),
    '/debug/objects': async () => jsonPage(objectsPage(sources.snapshot())),
    '/debug/counters': async () => jsonPage(Object.fromEntries(sources.catalog.counters())),
  }
  // A driver cannot replace a page that the command line and osm-dashboard read.
  return new Map([...sources.host.debugHandlers, ...Object.entries(own)])
}

/** Every proxy that there should be, and how many of them are how far. */
function statusPage({ proxies, refused }: ReturnType<DriverHost['report']>, settled: boolean): unknown {
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
function policyPage(catalog: MeshCatalog, { query: { uuid = '', identity } }: DebugRequest): DebugResponse {
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
  return jsonPage({ ...policy.document, origins: policy.origins })
}

/** Certificates without their keys: a certificate's own JSON form leaves them out. */
function certificatesPage({
  certificates,
  provider,
  workloadApiRoots,
  rotation,
  host,
  catalog,
}: Pick<DebugSources, 'certificates' | 'provider' | 'workloadApiRoots' | 'rotation' | 'host' | 'catalog'>): unknown {
  return {
    provider: { name: provider.name, faults: provider.faults() },
    ...(rotation === undefined ? {} : { rotation: rotationPage(rotation, { host, catalog }) }),
    roots: (['control-plane', 'workload'] as const).map((authority) => ({
      authority,
      root: certificates.getRootCertificate(authority),
    })),
    trusted: (['control-plane', 'workload'] as const).flatMap((authority) =>
      trustedRoots(certificates, authority, new Set(workloadApiRoots())),
    ),
    certificates: certificates.listCertificates(),
  }
}

/** How far a change of the provider is on this controller. */
function rotationPage(rotation: RotationView, { host, catalog }: Pick<DebugSources, 'host' | 'catalog'>): unknown {
  const { signs, next, confirmed } = rotation.trustState()
  const { count, unconfirmed } = connectedSidecars(host, catalog)
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
): readonly object[] {
  const signing = certificates.getRootCertificate(authority).chain
  const issued = certificates.listCertificates()
  return certificates.trustBundle(authority).map((pem) => {
    const { subject, fingerprint256, validTo } = new X509Certificate(pem)
    return {
      authority,
      subject: subject.replaceAll('\n', ', '),
      fingerprint: fingerprint256,
      expires: new Date(validTo).toISOString(),
      signs: pem === signing,
      ...(authority === 'workload' && pem !== signing && workloadApi.has(pem) ? { source: 'workload-api' } : {}),
      certificates: issued.filter(({ kind, issuingCA }) => kind !== 'root' && issuingCA.chain === pem).length,
    }
  })
}

function policiesPage({ catalog, snapshot: current }: Pick<DebugSources, 'catalog' | 'snapshot'>): unknown {
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
function objectsPage(snapshot: Snapshot | undefined): unknown {
  const objects = allKinds().flatMap((kind): readonly MeshObject[] => snapshot?.list(kind) ?? [])
  return {
    objects: objects.map((object) => ({ ...objectRef(object), generation: object.metadata.generation })),
  }
}

/** The sidecars of this replica, and those that have not confirmed their configuration: all of them while policies are being computed. */
export function connectedSidecars(
  host: Pick<DriverHost, 'report'>,
  { settled }: Pick<MeshCatalog, 'settled'>,
): ConnectedSidecars {
  const connected = host.report().proxies.filter((proxy) => proxy.connected)
  return {
    count: connected.length,
    unconfirmed: connected.filter(({ state }) => !settled || state !== 'applied').map(({ name }) => name),
  }
}
