import type { ApplyReport } from './apply-state.js'
import type { Principal, ProxyUUID, ServiceIdentity } from './identity.js'
import type { Configurator } from './mesh-config.js'
import type { ProxyObservation } from './observation.js'
import type { CredentialRef, EndpointsPart, JsonValue, Part, PartHash } from './policy/parts.js'
import type { PolicyUpdate } from './policy/policy.js'

/** A certificate with its key. Host and driver keep it in memory only; it is never logged, dumped or written. */
export interface Credential {
  /** PEM, leaf first. */
  readonly chain: string
  /** PEM, PKCS#8. Secret. Empty where {@link key} says who holds it. */
  readonly privateKey: string
  /** `proxy`: the chain is for the key of the proxy certificate, which the sidecar has in a file. Absent: the key comes with the chain. */
  readonly key?: 'proxy'
  /** RFC 3339. */
  readonly expiry: string
  /** Hexadecimal, lower case. */
  readonly serialNumber: string
  /** Roots to verify the peer with, PEM, for material from Secrets. */
  readonly roots?: readonly string[]
  /** Secret. The value of an HTTP header instead of a certificate, for kind `egress`. Chain and key are then empty. */
  readonly headerValue?: string
}

/** Roots for one purpose. */
export interface TrustBundle {
  /** Changes whenever `certificates` changes. */
  readonly id: string
  /** PEM, newest first. */
  readonly certificates: readonly string[]
}

/** A proxy whose certificate was accepted. */
export interface ProxyRef {
  /** The proxy's UUID, from its certificate. Identifies a proxy only together with {@link ProxyRef.identity}; {@link ProxyRef.commonName} contains both. */
  readonly uuid: ProxyUUID
  /** Identity of its workload. */
  readonly identity: ServiceIdentity
  /** DNS name of that identity. */
  readonly principal: Principal
  /** Namespace of the workload. */
  readonly namespace: string
  /** Sidecar class: always that of the calling driver. */
  readonly class: string
  /** Common name of the proxy certificate. */
  readonly commonName: string
  /** One live control stream; a newer stream evicts it. */
  readonly session: string
}

/** A proxy that must be disconnected immediately. */
export interface Eviction {
  /** The proxy, for logs. */
  readonly uuid: ProxyUUID
  /** The session to end; other sessions of the same proxy are not affected. */
  readonly session: string
  /** `rebalance` asks the proxy to reconnect, possibly to another replica; all other reasons are final for the session. */
  readonly reason: 'released' | 'workload-deleted' | 'superseded' | 'connection-cap' | 'rebalance' | 'shutdown'
}

/** Changed endpoints. Updates coalesce: each part has only its newest content. */
export interface EndpointsUpdate {
  /** Rises with every update of this host process; echoed in apply reports. */
  readonly generation: number
  /** Parts whose endpoints changed. */
  readonly parts: readonly EndpointsOfPart[]
}

/** The endpoints of a part, as they are now. */
export interface EndpointsOfPart {
  /** Hash of the part without endpoints, by which policies refer to it. */
  readonly hash: PartHash
  /** The part with its endpoints. */
  readonly part: EndpointsPart
}

/**
 * Policies and their parts. A driver holds the parts of a proxy by hash, and asks for those that a step adds.
 *
 * @example
 * const held = new Map<PartHash, Part>()
 * for await (const { revision, proxy: own, added, removed } of meshCatalog.policies.watch(proxy, signal)) {
 *   for (const { hash } of added) held.set(hash, await meshCatalog.parts.get(hash))
 *   await send(own, held, revision)
 *   for (const { hash } of removed) held.delete(hash)
 * }
 */
export interface PolicySource {
  /** The policy of each proxy. */
  readonly policies: {
    /** Yields the current policy as soon as it exists, then every later policy, coalesced. Ends with the signal or the eviction of the proxy. */
    watch(proxy: ProxyRef, signal: AbortSignal): AsyncIterable<PolicyUpdate>
  }
  /** The content of parts by hash. */
  readonly parts: {
    /**
     * Returns the part with that hash. Parts stay available while a policy step that refers to them is in force or not consumed yet.
     *
     * @throws OsmError with code `OSM_PART_UNKNOWN`
     */
    get(hash: PartHash): Promise<Part>
  }
  /**
   * Present for a driver with {@link Driver.followsEndpoints}. Its policies name `endpoints` parts by a hash that does not depend on their endpoints: that of the
   * part without any. `parts.get` returns the part with the endpoints that are known then, and these updates bring what changes afterwards. The versions of
   * policies do not change with them.
   */
  readonly endpoints?: {
    /** Yields every change from the call on. Ends with the signal. */
    watch(signal: AbortSignal): AsyncIterable<EndpointsUpdate>
  }
}

/** How a driver takes the service certificate of a proxy. */
export interface IdentityOptions {
  /** `proxy`: the sidecar of this session can use the key of its proxy certificate. The class declares the feature `proxy-key-certificates`. */
  readonly key?: 'proxy'
}

/** Certificates, limited to the needs of a driver. */
export interface DriverCertificates {
  /**
   * Yields the service certificate of that proxy's identity, then each replacement. Where the mesh gives each proxy a certificate of its own and `options` allow it,
   * it is for the public key that the proxy has proven to hold in this session, and has {@link Credential.key}. A session that replaces its key begins again, with
   * a handshake. A second call in a session never yields that certificate again: the sidecar has refused it.
   *
   * @throws OsmError with code `OSM_PROXY_KEY` if no certificate can be issued for the key of the proxy
   */
  identity(proxy: ProxyRef, signal: AbortSignal, options?: IdentityOptions): AsyncIterable<Credential>
  /** Yields the roots of service certificates, then each later set. */
  trustBundles(signal: AbortSignal): AsyncIterable<TrustBundle>
  /**
   * Yields the material of a reference in that proxy's policy, then each replacement.
   *
   * @throws OsmError with code `OSM_CREDENTIAL_DENIED` if the policy does not contain the reference
   */
  credentials(proxy: ProxyRef, ref: CredentialRef, signal: AbortSignal): AsyncIterable<Credential>
}

/** A control-plane certificate that the host replaces before it expires. */
export interface RotatingCredential {
  /** Yields the current credential and the roots to verify proxies with, then each replacement. */
  watch(signal: AbortSignal): AsyncIterable<{ readonly credential: Credential; readonly clientRoots: TrustBundle }>
}

/**
 * Sessions of proxies. A session begins with `authenticate` and ends with `disconnected`; everything that a driver says about a proxy names its session.
 *
 * @example
 * const { session } = await proxies.authenticate(certificate)
 * try {
 *   await serve()
 *   await proxies.report({ session, revision: 7, complete: true, parts: [] })
 * } finally {
 *   await proxies.disconnected(session)
 * }
 */
export interface Proxies {
  /**
   * Accepts or refuses a peer. The only input is the certificate that TLS has verified; claims of the proxy about itself are not used.
   *
   * @param peer - DER of the peer's leaf certificate: the only value of the contract that is bytes instead of JSON. `osm.driver.v1` has `bytes` for it
   * @throws OsmError with code `OSM_PROXY_UNAUTHENTICATED`, `OSM_PROXY_UNKNOWN`, `OSM_PROXY_WRONG_CLASS` or `OSM_PROXY_EVICTED` (cap)
   */
  authenticate(peer: Uint8Array): Promise<ProxyRef>
  /** Ends the session after its stream has closed. */
  disconnected(session: string): Promise<void>
  /** Yields proxies to disconnect. */
  evictions(signal: AbortSignal): AsyncIterable<Eviction>
  /** Reports what a proxy acknowledged or rejected. */
  report(report: ApplyReport): Promise<void>
  /** Reports problems of a proxy or refused peers to operators, as rows of `osm proxy status`. Sessions that have ended are ignored. */
  observe(observation: ProxyObservation): Promise<void>
}

/** A message of the host's broker. */
export interface Message {
  /** Topic of the message. */
  readonly topic: string
  /** Names of what changed. */
  readonly payload: JsonValue
}

/**
 * One topic: `meshconfig`, after each change of the configuration. Payloads contain names only, no state and no secrets. Policies and certificates have
 * their own streams.
 */
export interface MessageBroker {
  /** Bounded: a slow subscriber loses the oldest messages and receives a message with topic `overflow`. */
  subscribe(topic: string, signal: AbortSignal): AsyncIterable<Message>
}

/** A request to a debug page. */
export interface DebugRequest {
  /** Path without the query. */
  readonly path: string
  /** Decoded query parameters; of equal names the last one. */
  readonly query: Readonly<Record<string, string>>
}

/** The response of a debug page. It must not contain key material. */
export interface DebugResponse {
  /** HTTP status. */
  readonly status: number
  /** Value of the `content-type` header. */
  readonly contentType: string
  /** Whole body. */
  readonly body: string
}

/** Debug pages of a driver, mounted below `/debug/` on the host's debug server. */
export interface DebugHandlers {
  /**
   * Mounts a page.
   *
   * @param path - such as `/debug/proxy`; the last registration of a path takes precedence, and the host logs it; a page of the host itself is not replaced
   */
  register(path: string, handler: (request: DebugRequest) => Promise<DebugResponse>): void
}

/** Metrics under the host's registry; names and label names must be declared before use and are checked for cardinality. */
export interface DriverMetrics {
  /**
   * Declares a counter.
   *
   * @param labels - names of labels, in order
   */
  counter(
    name: string,
    help: string,
    labels: readonly string[],
  ): { inc(labels: Readonly<Record<string, string>>, by?: number): void }
  /**
   * Declares a gauge.
   *
   * @param labels - names of labels, in order
   */
  gauge(
    name: string,
    help: string,
    labels: readonly string[],
  ): { set(labels: Readonly<Record<string, string>>, value: number): void }
  /**
   * Declares a histogram of durations.
   *
   * @param labels - names of labels, in order
   * @param buckets - upper bounds in seconds
   */
  histogram(
    name: string,
    help: string,
    labels: readonly string[],
    buckets: readonly number[],
  ): { observe(labels: Readonly<Record<string, string>>, seconds: number): void }
}

/** Structured log. Messages are constant; variable data goes into fields. Do not log keys, tokens or whole objects. */
export interface Logger {
  /** For developers of the driver. */
  debug(fields: Readonly<Record<string, unknown>>, message: string): void
  /** For operators: a decision. */
  info(fields: Readonly<Record<string, unknown>>, message: string): void
  /** For operators: a problem that does not interrupt service. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
  /** For operators: a failure. */
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** The context of {@link Driver.start}. */
export interface ControllerContext {
  /** Contract version in use: the newest one that driver and host support. */
  readonly contract: number
  /** IP address to listen on for the class's proxies. */
  readonly proxyServerAddress: string
  /** Port to listen on; 0 lets the driver choose. */
  readonly proxyServerPort: number
  /** Certificate that the proxy control plane presents to proxies, and the roots to verify them with. */
  readonly proxyServiceCert: RotatingCredential
  /** Namespace of the control plane. */
  readonly osmNamespace: string
  /** MeshConfig, live. */
  readonly configurator: Configurator
  /** Policies of proxies. */
  readonly meshCatalog: PolicySource
  /** Certificates of proxies' identities. */
  readonly certManager: DriverCertificates
  /** Messages of the host. */
  readonly msgBroker: MessageBroker
  /** Sessions of proxies. */
  readonly proxies: Proxies
  /** Debug pages of the driver. */
  readonly debugHandlers: DebugHandlers
  /** Metrics of the driver. */
  readonly metrics: DriverMetrics
  /** Log of the driver. */
  readonly logger: Logger
  /**
   * The driver's own `sidecarDrivers[].config`, checked against its `configSchema`. It does not change while the driver runs: a new value
   * takes effect at the next start of the controller, and MeshConfig has the condition `RestartRequired` until then. {@link configurator} is live.
   */
  readonly driverConfig: JsonValue
  /** Stops this driver only. If its class is the default class of the mesh, the controller becomes unready. */
  cancel(reason: Error): void
  /** Aborts when the driver has to stop; it must then close everything that `start` opened. */
  readonly signal: AbortSignal
}
