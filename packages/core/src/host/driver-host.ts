import {
  type Configurator,
  type ControllerContext,
  type Credential,
  type DebugRequest,
  type DebugResponse,
  type Driver,
  type DriverMetrics,
  type Eviction,
  type IdentityOptions,
  type Logger,
  type MeshService,
  type MessageBroker,
  OsmError,
  type ProxyRef,
  type RefusedPeer,
  type ServiceAccountRef,
} from '@osm-ts/driver-api'
import { requireContract } from '@osm-ts/driver-api/host'
import { Latest } from '@osm-ts/driver-api/toolkit'
import type { CredentialRef, JsonValue, PartHash } from '@osm-ts/driver-api/policy'

import { BoundedQueue } from '../async/bounded-queue.js'
import { atOnce, type Steps } from '../async/index.js'
import type { CertificateManager } from '../certificates/certificate-manager.js'
import { PeerVerifier } from '../certificates/verify.js'
import type { MeshDomains } from '../identity/mesh-domains.js'
import { proxyCommonName } from '../identity/proxy-identity.js'
import { identityOfProxyKey, proxyKeyOfRef, type ProxyKey } from '../identity/proxy-key.js'
import type { SecretSource } from '../secrets/secret-source.js'
import { TrustBundles } from './trust-bundles.js'
import { unprotectedByClass } from './unprotected-by-class.js'
import type { InstanceProvider, PolicyProvider, ProxyCatalog, ProxyInstance } from './policy-provider.js'
import { KeptPolicies } from './kept-policies.js'
import { PolicyDelivery } from './policy-delivery.js'
import type { PushLog } from './push-log.js'
import { ProxyObservations } from './proxy-observations.js'
import { type ProxyReport, proxyStatuses } from './proxy-status.js'
import { ProxySessions } from './proxy-sessions.js'
import { type HeaderValues, SecretCredentials } from './secret-credentials.js'
import { serverCredentials } from './server-credentials.js'
import { type ServiceCertificateMode, ServiceCredentials } from './service-credentials.js'
import type { ProxyStatus } from './status.js'

/** What a {@link DriverHost} is made from. */
export interface DriverHostOptions {
  readonly policies: PolicyProvider
  readonly catalog: ProxyCatalog
  readonly instances: InstanceProvider
  readonly certificates: CertificateManager
  readonly secrets: SecretSource
  readonly headerValues: HeaderValues
  readonly domains: MeshDomains
  readonly configurator: Configurator
  readonly servicesOf: (account: ServiceAccountRef) => readonly MeshService[]
  readonly connectionCap: () => number
  readonly serviceCertificates: ServiceCertificateMode
  readonly broker: MessageBroker
  readonly metrics: DriverMetrics
  readonly pushes: PushLog
  readonly logger: Logger
  readonly osmNamespace: string
  readonly serverNames: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] }
  readonly now: () => number
  readonly setTimer: (callback: () => void, delayMs: number) => () => void
  readonly signal: AbortSignal
}

/** What the host needs to know to start one driver. */
export interface DriverStart {
  readonly address: string
  readonly port: number
  readonly driverConfig: JsonValue
  readonly logger: Logger
  /** Called when the driver ends itself. */
  readonly onCancel: (reason: Error) => void
  readonly signal: AbortSignal
}

/** Evictions that a driver may lag behind. As many as there can be sessions between two turns of its loop. */
const EVICTION_CAPACITY = 65_536

/**
 * The host's side of the driver contract in a controller: gives each driver its narrow view of the mesh, and gathers what proxies report.
 */
export class DriverHost {
  readonly #options: DriverHostOptions
  readonly #delivery: PolicyDelivery
  readonly #sessions: ProxySessions
  readonly #kept: KeptPolicies
  readonly #credentials: ServiceCredentials
  readonly #secrets: SecretCredentials
  readonly #roots: TrustBundles
  readonly #observations: ProxyObservations
  readonly #evictions = new Map<string, BoundedQueue<Eviction>>()
  /** What keeps a served port closed, by class. */
  readonly #unprotected = new Map<string, ReturnType<typeof unprotectedByClass>>()
  /** Classes whose drivers follow endpoints apart from policies. */
  readonly #following = new Set<string>()
  readonly #debugHandlers = new Map<string, (request: DebugRequest) => Promise<DebugResponse>>()
  #verifier: PeerVerifier

  constructor(options: DriverHostOptions) {
    this.#options = options
    this.#observations = new ProxyObservations(options.now, options.domains.trustDomain)
    this.#roots = new TrustBundles(options.certificates)
    this.#verifier = this.#makeVerifier()
    this.#credentials = new ServiceCredentials(options)
    this.#secrets = new SecretCredentials(options)
    this.#kept = new KeptPolicies({
      release: (proxy) => options.catalog.releasePolicy(proxy),
      setTimer: options.setTimer,
    })
    this.#sessions = new ProxySessions({
      ...options,
      trustDomain: options.domains.trustDomain,
      verifier: () => this.#verifier,
      onEvict: (eviction, proxyClass) => {
        this.#evictions.get(proxyClass.toLowerCase())?.push(eviction)
      },
      onEnd: (proxy) => {
        const { session } = proxy
        this.#kept.ended(proxyKeyOfRef(proxy))
        this.#delivery.ended(session)
        this.#credentials.ended(session)
        this.#observations.forget(session)
      },
    })
    this.#delivery = new PolicyDelivery({
      policies: options.policies,
      pushes: options.pushes,
      sessionOf: (proxy) => this.#sessions.get(proxy)?.session,
    })
    const leave = [
      options.policies.onEndpoints((changes) => {
        this.#delivery.offerEndpoints(changes)
      }),
      options.policies.onPolicies((changed) => {
        this.#delivery.offerPolicies(changed)
      }),
      // An identity may back another service without any policy being another one.
      options.policies.announcements((accounts) => {
        this.#credentials.servicesChanged(accounts)
      }),
      options.instances.onPresent((proxies) => {
        for (const proxy of proxies)
          options.catalog.expectProxy(proxyCommonName(identityOfProxyKey(proxy), options.domains.trustDomain))
      }),
      options.instances.onRemoved((proxies) => {
        this.#release(proxies)
      }),
    ]
    options.signal.addEventListener('abort', () => {
      for (const end of leave) end()
      this.#kept.close()
    })
  }

  /** Follows certificates until the signal of the options aborts. Anyone who composes the program runs this once. */
  async run(): Promise<void> {
    await Promise.all([this.#credentials.run(this.#options.signal), this.#followRoots()])
  }

  /** The context to start a driver with. */
  contextFor(driver: Driver, start: DriverStart): ControllerContext {
    const { configurator, broker, metrics, osmNamespace } = this.#options
    const driverClass = driver.name.toLowerCase()
    this.#unprotected.set(driverClass, unprotectedByClass(driverClass, driver.capabilities))
    this.#evictions.set(driverClass, new BoundedQueue<Eviction>(EVICTION_CAPACITY))
    const followsEndpoints = driver.followsEndpoints === true
    if (followsEndpoints) this.#following.add(driverClass)
    const takesKeys = driver.capabilities.features.includes('proxy-key-certificates')
    return {
      contract: requireContract(driver),
      proxyServerAddress: start.address,
      proxyServerPort: start.port,
      proxyServiceCert: {
        watch: (signal) => serverCredentials(this.#options, this.#roots.controlPlane, signal),
      },
      osmNamespace,
      configurator,
      meshCatalog: {
        policies: { watch: (proxy, signal) => this.#delivery.watch(proxy, signal) },
        parts: { get: async (hash) => this.#delivery.part(hash, followsEndpoints) },
        ...(followsEndpoints && {
          endpoints: { watch: (signal: AbortSignal) => this.#delivery.endpoints.watch(signal) },
        }),
      },
      certManager: {
        identity: (proxy, signal, takes = {}) => this.#identity(proxy, signal, takesKeys ? takes : undefined),
        trustBundles: (signal) => this.#roots.workload.watch(signal),
        credentials: (proxy, ref, signal) => this.#credential(proxy, ref, signal),
      },
      msgBroker: broker,
      proxies: {
        authenticate: async (peer) => this.#authenticate(peer, driverClass),
        disconnected: async (session) => {
          this.#sessions.disconnected(session)
        },
        evictions: (signal) => this.#readEvictions(driverClass, signal),
        report: async (report) => {
          this.#delivery.session(report.session)?.report(report, this.#options.now())
        },
        observe: async (observation) => {
          this.#observations.take(observation, (session) => this.#delivery.session(session) !== undefined)
        },
      },
      debugHandlers: {
        register: (path, handler) => {
          if (this.#debugHandlers.has(path))
            start.logger.warn({ path }, 'a debug page is registered a second time; the new one holds')
          this.#debugHandlers.set(path, handler)
        },
      },
      metrics,
      logger: start.logger,
      driverConfig: start.driverConfig,
      cancel: start.onCancel,
      signal: start.signal,
    }
  }

  /** Notes that a server beside the drivers has refused a peer, such as a machine that joins. */
  noteRefusal(refused: RefusedPeer): void {
    this.#observations.take({ refused }, () => false)
  }

  /** Debug pages of the drivers, by path. */
  get debugHandlers(): ReadonlyMap<string, (request: DebugRequest) => Promise<DebugResponse>> {
    return this.#debugHandlers
  }

  /** Proxies connected to this process. */
  get connected(): number {
    return this.#sessions.size
  }

  /** Connections that the cap refused. */
  get rejectedByCap(): number {
    return this.#sessions.rejectedByCap
  }

  /** Where every proxy stands, sorted by name. */
  statuses(): readonly ProxyStatus[] {
    return this.report().proxies
  }

  /** Where those proxies stand that refuse something. Takes no time for the others, so that it can be requested often. */
  refusingStatuses(): readonly ProxyStatus[] {
    const { rejected } = this.#delivery.unsettled
    if (rejected.size === 0) return []
    const refusing = this.#sessions.list().filter(({ session }) => rejected.has(session))
    const uuids = new Set<string>(refusing.map(({ uuid }) => uuid))
    return this.statuses().filter(({ uuid, state }) => state === 'rejected' && uuids.has(uuid))
  }

  /** Parts that a connected proxy should have and has not acknowledged. */
  unacknowledgedParts(): ReadonlySet<PartHash> {
    return this.#delivery.unacknowledgedParts()
  }

  /** Where every proxy stands, and whom drivers have refused recently that is none of them. */
  report(): ProxyReport {
    return atOnce(this.reportInSteps())
  }

  /** The same in steps, each of which looks at a proxy. Of what changes in between, either version may be told. */
  reportInSteps(): Steps<ProxyReport> {
    const { instances, policies } = this.#options
    const sessionOf = (proxy: ProxyKey): string => this.#sessions.get(proxy)?.session ?? ''
    return proxyStatuses({
      instances: instances.instances(),
      policies,
      streamOf: (proxy) => this.#delivery.session(sessionOf(proxy))?.stream,
      conditionsOf: (proxy) => [
        ...this.#observations.ofSession(sessionOf(proxy)),
        ...this.#credentials.conditionsOf(sessionOf(proxy)),
      ],
      refused: this.#observations.refused(),
    })
  }

  #authenticate(peer: Uint8Array, driverClass: string): ProxyRef {
    const proxy = this.#sessions.authenticate(peer, driverClass)
    this.#credentials.began(proxy.session, peer)
    this.#kept.began(proxyKeyOfRef(proxy))
    this.#delivery.began(proxy, {
      driverClass,
      followsEndpoints: this.#following.has(driverClass),
      unprotected: this.#unprotected.get(driverClass),
    })
    return proxy
  }

  /** The service certificate of a proxy and its successors; none for one that takes it from elsewhere. */
  #identity(proxy: ProxyRef, signal: AbortSignal, takes: IdentityOptions | undefined): AsyncIterable<Credential> {
    const { serviceAccount, serviceCredential } = this.#instanceOf(proxy)
    if (serviceCredential !== undefined) return new Latest<Credential>().watch(signal)
    return this.#credentials.watch(proxy, serviceAccount, signal, takes)
  }

  #instanceOf(proxy: ProxyRef): ProxyInstance {
    const { uuid } = proxy
    const instance = this.#options.instances.instance(proxyKeyOfRef(proxy))
    if (instance !== undefined) return instance
    throw new OsmError('OSM_PROXY_UNKNOWN', `the workload of proxy ${uuid} has ended`, { details: { uuid } })
  }

  #credential(proxy: ProxyRef, ref: CredentialRef, signal: AbortSignal): AsyncIterable<Credential> {
    switch (ref.kind) {
      case 'service':
        return this.#identity(proxy, signal, undefined)
      case 'secret':
      case 'egress':
        return this.#secrets.watch(proxy, ref, signal)
    }
  }

  async *#readEvictions(driverClass: string, signal: AbortSignal): AsyncGenerator<Eviction, void, undefined> {
    const queue = this.#evictions.get(driverClass)
    if (queue === undefined) return
    for await (const entry of queue.read(signal)) if ('item' in entry) yield entry.item
  }

  #release(proxies: readonly ProxyKey[]): void {
    for (const key of proxies) {
      const proxy = this.#sessions.get(key)
      this.#sessions.evict(key, 'workload-deleted')
      // One that is not connected here may be connected to another replica, and return if its namespace does.
      if (proxy === undefined) this.#options.catalog.proxies.forget(key)
      // The common name was verified when the session began.
      else this.#options.certificates.releaseCertificate({ kind: 'proxy', commonName: proxy.commonName as never })
    }
  }

  async #followRoots(): Promise<void> {
    for await (const announcement of this.#options.certificates.subscribe(this.#options.signal)) {
      if (announcement.type === 'rootChanged' || announcement.type === 'missed') {
        this.#roots.refresh()
        this.#verifier = this.#makeVerifier()
      }
    }
  }

  #makeVerifier(): PeerVerifier {
    return new PeerVerifier({
      authority: 'control-plane',
      trustBundle: this.#options.certificates.trustBundle('control-plane'),
      domains: this.#options.domains,
      peer: 'client',
    })
  }
}
