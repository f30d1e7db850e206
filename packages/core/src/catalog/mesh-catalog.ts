import { type MeshService, OsmError, type ProxyRef, type ServiceAccountRef } from '@osm-ts/driver-api'
import type { EndpointsPart, Part, PartHash, ProxyPart, ProxyPolicy, RouteMatch } from '@osm-ts/driver-api/policy'
import { Listeners } from '@osm-ts/driver-api/toolkit'

import { atOnce, type Steps } from '../async/index.js'
import type { Endpoint, EndpointsProvider } from '../endpoints/index.js'
import { MergedEndpointsProvider } from '../endpoints/merged-provider.js'
import { parseProxyCommonName, proxyKey, proxyKeyOfRef, type ProxyKey } from '../identity/index.js'
import type { Problem } from '../problem.js'
import { ProxyRegistry } from '../proxies/index.js'
import type { SnapshotUpdate } from '../snapshot/index.js'
import { SnapshotMeshSpec, type MeshSpec, type ObjectKey } from '../spec/index.js'
import { type AnnouncedAccounts, Announcements } from './announcements.js'
import type {
  EndpointsForClient,
  IngressTrafficPolicy,
  LocatedSource,
  MeshCatalogOptions,
  Participant,
  ParticipationReport,
  PolicyWithOrigins,
  SmiPolicies,
  TrafficPolicy,
  WeightedCluster,
} from './catalog-types.js'
import { PolicyDecisions } from './decision/policy-decisions.js'
import { Faults } from './faults.js'
import type { QueryCount } from './incremental/index.js'
import { PolicyComputation, type CatalogUpdate, type PolicyChange } from './policy-computation.js'
import type { PolicyPart } from './policy/parts/policy-part.js'
import type { EndpointsChange } from './store/endpoint-contents.js'
import type { PolicyPartStore } from './store/policy-part-store.js'
import { documentOf } from './store/policy-document.js'
import { AccessViews } from './views/access-views.js'
import { ClientEndpoints } from './views/client-endpoints.js'
import { ingressPolicies, ingressRoutes } from './views/ingress-views.js'
import { Participation, participantsOf } from './views/participation.js'
import { Membership } from './views/membership.js'
import { Provenance } from './views/provenance.js'
import { resolvableHostNames, weightedCluster } from './views/service-views.js'

/**
 * The mesh catalog: joins specification, endpoints and proxies, and says what every proxy must do.
 *
 * Two sides. For the host of drivers: {@link apply} what is new, hear which policies changed, get policies and parts. For everybody else: questions about
 * services, identities and policy, answered from the state that was applied last; before that there is nothing to tell and lists are empty.
 */
export class MeshCatalog {
  readonly #options: MeshCatalogOptions
  readonly #computation: PolicyComputation
  readonly #access: AccessViews
  readonly #clientEndpoints: ClientEndpoints
  readonly #participation: Participation
  readonly #meshSpec: MeshSpec
  readonly #membership: Membership
  readonly #provenance: Provenance
  readonly #policyListeners = new Listeners<ReadonlySet<ProxyKey>>()
  readonly #endpointsListeners = new Listeners<readonly EndpointsChange[]>()
  readonly #announcements = new Announcements()
  readonly #specListeners = new Listeners<SnapshotUpdate>()
  /** All endpoints providers as one, with what they know now; the catalog's own answers are those of the state applied last. */
  readonly endpoints: EndpointsProvider
  /** Answers who may call whom. */
  readonly decisions: PolicyDecisions
  /** The record of proxies. */
  readonly proxies: ProxyRegistry

  constructor(options: MeshCatalogOptions) {
    const { endpointsProviders, enrolment, domains } = options
    this.#options = options
    this.endpoints = new MergedEndpointsProvider('mesh', endpointsProviders)
    this.#computation = new PolicyComputation({ ...options, endpoints: this.endpoints })
    this.decisions = new PolicyDecisions(this.#computation, options)
    this.#access = new AccessViews(this.#computation)
    this.#clientEndpoints = new ClientEndpoints(this.#computation)
    this.proxies = options.proxies ?? new ProxyRegistry()
    this.#membership = new Membership(this.#computation, domains.trustDomain)
    this.#participation = new Participation(
      this.#computation,
      this.proxies,
      domains.trustDomain,
      options.endpointsProviders,
    )
    this.#provenance = new Provenance(this.#computation, options.locate)
    this.#meshSpec = new SnapshotMeshSpec({
      current: () => this.#computation.snapshot,
      subscribe: (listener) => this.#specListeners.add(listener),
      enrolment,
      clusterDomain: domains.clusterDomain,
    })
  }

  // --- Policies -------------------------------------------------------------------------------------------------------------------------------

  /** True once specification, configuration and roots are there. Before that no proxy has a policy. */
  get ready(): boolean {
    return this.#computation.ready
  }

  /**
   * Takes in what is new, computes all that follows from it, and tells listeners. Gives exactly the proxies whose policy is another one now, sorted by key.
   *
   * @throws what failed, once everything else has been computed and told
   */
  apply(update: CatalogUpdate): readonly PolicyChange[] {
    this.take(update)
    return this.settle()
  }

  /** Takes in what is new. Policies follow by {@link settle}. */
  take(update: CatalogUpdate): void {
    this.#computation.take(update)
    this.#announcements.note(update)
    if (update.spec === undefined) return
    const { changed } = update.spec
    this.#specListeners.notify({ snapshot: this.#computation.snapshot, changed })
  }

  /** False while there is something for {@link settle} to do. */
  get settled(): boolean {
    return this.#computation.settled
  }

  /**
   * Goes on with what {@link take} has begun, and tells listeners of the policies that are others by it. Thousands of policies take longer than probes,
   * acknowledgements and handshakes should wait, so a caller may have them computed in slices.
   *
   * @param mayGoOn - asked after each policy; once it says no, the rest is left for the next call
   * @throws what failed, once everything else has been computed and told
   */
  settle(mayGoOn?: () => boolean): readonly PolicyChange[] {
    const { changes, endpoints, faults: known } = this.#computation.settle(mayGoOn)
    const faults = new Faults(known)
    faults.keep(() => {
      if (endpoints.length > 0) this.#endpointsListeners.notify(endpoints)
    })
    faults.keep(() => {
      if (changes.length > 0) this.#policyListeners.notify(new Set(changes.map(({ proxy }) => proxy)))
    })
    faults.keep(() => {
      if (this.ready && this.settled) this.#announcements.announce()
    })
    faults.raise()
    return changes
  }

  /**
   * The policy in force, as a graph of parts: hold it in {@link parts} to keep it and all it refers to. Undefined where only the policies of connected proxies are
   * kept up to date, and the proxy is none.
   */
  policyFor(proxy: ProxyKey): PolicyPart<ProxyPart> | undefined {
    return this.#computation.policyFor(proxy)
  }

  /** True if policies in force may send traffic to the workload: it took traffic when they were computed. */
  takesTraffic(proxy: ProxyKey): boolean {
    return this.#computation.takesTraffic(proxy)
  }

  /** A policy in force with its endpoints, which it does not hold itself: `endpoints` parts that it refers to are empty. */
  whole(policy: PolicyPart<ProxyPart>): PolicyPart<ProxyPart> {
    return this.#computation.wholePolicies.of(policy)
  }

  /** The `endpoints` part with its endpoints, by the hash of the empty part that policies in force refer to. */
  endpointsOf(frame: PartHash): PolicyPart<EndpointsPart> | undefined {
    return this.#computation.endpoints.of(frame)
  }

  /** Calls the listener with endpoints that have become others, before it hears of policies that have. The result ends it. */
  onEndpoints(listener: (changes: readonly EndpointsChange[]) => void): () => void {
    return this.#endpointsListeners.add(listener)
  }

  /** The whole document of a policy, which is computed for this if it is not kept up to date. */
  policyDocument(proxy: ProxyKey): ProxyPolicy | undefined {
    return this.#computation.inspect(proxy, (policy) => documentOf(this.whole(policy)))
  }

  /** The same with the objects that elements of its parts came from. */
  policyWithOrigins(proxy: ProxyKey): PolicyWithOrigins | undefined {
    return this.#computation.inspect(proxy, (policy) => {
      const document = documentOf(this.whole(policy))
      return { document, origins: this.#provenance.originsByPart(document) }
    })
  }

  /** Proxies of all workloads, sorted. */
  listProxies(): readonly ProxyKey[] {
    return this.#computation.proxies()
  }

  /** Calls the listener after each {@link apply} that changed policies. The result ends it. */
  onPolicies(listener: (changed: ReadonlySet<ProxyKey>) => void): () => void {
    return this.#policyListeners.add(listener)
  }

  /** Calls the listener with the policy of one proxy, now if there is one and after each change; undefined when its workload is gone. The result ends it. */
  subscribe(proxy: ProxyKey, listener: (policy: PolicyPart<ProxyPart> | undefined) => void): () => void {
    const policy = this.policyFor(proxy)
    if (policy !== undefined) listener(policy)
    return this.onPolicies((changed) => {
      if (changed.has(proxy)) listener(this.policyFor(proxy))
    })
  }

  /** Parts of all versions that are in force or held. */
  get parts(): PolicyPartStore {
    return this.#computation.parts
  }

  /** @throws OsmError with code `OSM_PART_UNKNOWN` */
  part(hash: PartHash): Part {
    const part = this.parts.get(hash) ?? this.#computation.endpoints.find(hash)?.part
    if (part === undefined)
      throw new OsmError('OSM_PART_UNKNOWN', `no policy in force, and none that is held, has a part ${hash}`)
    return part
  }

  /**
   * Objects that a part, or an element of it, came from.
   *
   * @param pointer - JSON pointer into the part, such as `/rules/allow/2`; what lies below an element counts as the element. Absent: the whole part
   */
  originsOf(hash: PartHash, pointer?: string): readonly LocatedSource[] {
    return this.#provenance.originsOf(hash, pointer)
  }

  /** Keys of all objects that parts in force came from. */
  objectsOf(hashes: Iterable<PartHash>): ReadonlySet<ObjectKey> {
    return this.#provenance.objectsOf(hashes)
  }

  /** What was found wrong while policies were computed; sorted by place. */
  problems(): readonly Problem[] {
    return atOnce(this.problemsInSteps())
  }

  /** The same in steps, each of which looks at a share of the mesh. */
  problemsInSteps(): Steps<readonly Problem[]> {
    return this.#provenance.problems()
  }

  /** How often each query ran since {@link resetCounters}. */
  counters(): ReadonlyMap<string, QueryCount> {
    return this.#computation.counters()
  }

  resetCounters(): void {
    this.#computation.resetCounters()
  }

  // --- Specification and policy, service by service -----------------------------------------------------------------------------------------------

  /** The mesh specification that policies are computed from. */
  getSMISpec(): MeshSpec {
    return this.#meshSpec
  }

  /** SMI policy, kind by kind. */
  listSMIPolicies(): SmiPolicies {
    const spec = this.#meshSpec
    return {
      trafficSplits: spec.listTrafficSplits(),
      weightedServices: spec.listTrafficSplitServices(),
      serviceAccounts: spec.listServiceAccounts(),
      httpRouteGroups: spec.listHTTPTrafficSpecs(),
      tcpRoutes: spec.listTCPTrafficSpecs(),
      trafficTargets: spec.listTrafficTargets(),
    }
  }

  /** Traffic that TrafficTargets allow from or to workloads of a service; none in permissive mode, where they are not read. */
  listTrafficPolicies(service: MeshService): readonly TrafficPolicy[] {
    return this.#access.trafficPolicies(service)
  }

  /** Services whose workloads may call a service; sorted. */
  listAllowedInboundServices(service: MeshService): readonly MeshService[] {
    return this.#access.inboundServices(service)
  }

  /** Service accounts that may call workloads of a service account; sorted. */
  listAllowedInboundServiceAccounts(account: ServiceAccountRef): readonly ServiceAccountRef[] {
    return this.#access.inboundAccounts(account)
  }

  /** Service accounts that a service account may call; sorted. */
  listAllowedOutboundServiceAccounts(account: ServiceAccountRef): readonly ServiceAccountRef[] {
    return this.#access.outboundAccounts(account)
  }

  /** Service accounts that run the workloads of a service; sorted. */
  listServiceAccountsForService(service: MeshService): readonly ServiceAccountRef[] {
    return this.#access.accountsOf(service)
  }

  /** Services that a service account is behind, which are those its certificate must name; sorted. */
  getServicesForServiceAccount(account: ServiceAccountRef): readonly MeshService[] {
    return this.#access.servicesOf(account)
  }

  /** Host names by which workloads of one service can call another, with and without ports; sorted. */
  getResolvableHostnamesForUpstreamService(downstream: MeshService, upstream: MeshService): readonly string[] {
    return resolvableHostNames(this.#computation, downstream, upstream)
  }

  /** The share of the traffic of its apexes that a service gets. */
  getWeightedClusterForService(service: MeshService): WeightedCluster {
    return weightedCluster(this.#computation, service)
  }

  /** Routes by host name that IngressBackends open to a service; `*` stands for any name. */
  getIngressRoutesPerHost(service: MeshService): ReadonlyMap<string, readonly RouteMatch[]> {
    return ingressRoutes(ingressPolicies(this.#computation, service))
  }

  /** What IngressBackends let in to a service; nothing if the account is not behind the service. */
  getIngressPoliciesForService(service: MeshService, account: ServiceAccountRef): readonly IngressTrafficPolicy[] {
    const member = this.#access
      .accountsOf(service)
      .some(({ namespace, name }) => namespace === account.namespace && name === account.name)
    return member ? ingressPolicies(this.#computation, service) : []
  }

  // --- Endpoints ----------------------------------------------------------------------------------------------------------------------------------

  /** Endpoints of a service from all providers; sorted by address and port. */
  listEndpointsForService(service: MeshService): readonly Endpoint[] {
    return this.#computation.state?.endpoints.listEndpointsForService(service).items ?? []
  }

  /** Endpoints that proxies of a service account should know, and whether they changed since the last call for it. */
  listEndpoints(account: ServiceAccountRef): Steps<EndpointsForClient> {
    return this.#clientEndpoints.list(account)
  }

  /** Endpoints providers, in order of precedence. */
  listEndpointsProviders(): readonly EndpointsProvider[] {
    return this.#options.endpointsProviders
  }

  /**
   * Calls the listener when it is time to ask {@link listEndpoints} again, with the only accounts that may be behind other services than before; undefined
   * where any may. The result ends it.
   */
  announcements(listener: (accounts: AnnouncedAccounts) => void): () => void {
    return this.#announcements.add(listener)
  }

  // --- Proxies ------------------------------------------------------------------------------------------------------------------------------------

  /** Notes that a certificate was issued for a proxy that is to connect. @throws OsmError with code `OSM_IDENTITY_PROXY_NAME` */
  expectProxy(commonName: string): void {
    this.proxies.expect(proxyKey(parseProxyCommonName(commonName, this.#options.domains.trustDomain)))
  }

  /** Notes that a proxy has connected. From now on its policy is kept up to date. */
  registerProxy(proxy: ProxyRef): void {
    this.proxies.register(proxy)
    this.#computation.want(proxyKeyOfRef(proxy))
  }

  /** Notes that a proxy's session has ended. Its policy is kept up to date until {@link releasePolicy}. */
  unregisterProxy(proxy: ProxyRef): void {
    this.proxies.unregister(proxy)
  }

  /** Ends keeping the policy of a proxy up to date, unless it is connected. */
  releasePolicy(proxy: ProxyKey): void {
    if (this.proxies.get(proxy)?.session === undefined) this.#computation.release(proxy)
  }

  /**
   * Services that a proxy is a member of, given the common name of the certificate that it shows to the control plane. Membership is that of its
   * workload; a name that speaks of another service account than the workload runs under gets none.
   *
   * @throws OsmError with code `OSM_IDENTITY_PROXY_NAME`, or `OSM_PROXY_UNKNOWN` if there is no such workload
   */
  getServicesFromProxyCertificate(commonName: string): readonly MeshService[] {
    return this.#membership.servicesOf(commonName)
  }

  /** Proxies that were issued a certificate, are connected, and stand before a workload that endpoints providers know; sorted by uuid. */
  listParticipants(report = this.participation()): readonly Participant[] {
    return participantsOf(report)
  }

  /** How far each proxy has got on its way to being a participant, and endpoints that no connected proxy stands before. */
  participation(): ParticipationReport {
    return this.#participation.report()
  }

  /** The same in steps, each of which looks at a service or a proxy. */
  participationInSteps(): Steps<ParticipationReport> {
    return this.#participation.reportInSteps()
  }
}
