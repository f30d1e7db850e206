import type { ApplyReport } from './apply-state.js'
import type { Principal, ProxyUUID, ServiceIdentity } from './identity.js'
import type { Configurator } from './mesh-config.js'
import type { ProxyObservation } from './observation.js'
import type { CredentialRef, JsonValue, Part, PartHash } from './policy/parts.js'
import type { PolicyUpdate } from './policy/policy.js'

/** A certificate with its key. Host and driver keep it in memory only; it is never logged, dumped or written. */
export interface Credential {
  /** PEM, leaf first. */
  readonly chain: string
  /** PEM, PKCS#8. Secret. */
  readonly privateKey: string
  /** RFC 3339. */
  readonly expiry: string
  /** Hexadecimal, lower case. */
  readonly serialNumber: string
  /** Roots that the other side is verified by, PEM, where they come with the material: that of Secrets. */
  readonly roots?: readonly string[]
  /** Secret. The value of an HTTP header in the place of a certificate: that of kind `egress`. Chain and key are then empty. */
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
  /** The proxy's UUID, from its certificate. Names a proxy only together with {@link ProxyRef.identity}; {@link ProxyRef.commonName} holds both. */
  readonly uuid: ProxyUUID
  /** Whose workload it stands beside. */
  readonly identity: ServiceIdentity
  /** DNS name of that identity. */
  readonly principal: Principal
  /** Namespace of the workload. */
  readonly namespace: string
  /** Sidecar class: always that of the driver that asked. */
  readonly class: string
  /** Common name of the proxy certificate. */
  readonly commonName: string
  /** One live control stream; a newer one evicts it. */
  readonly session: string
}

/** A proxy that must be cut off at once. */
export interface Eviction {
  /** The proxy, for logs. */
  readonly uuid: ProxyUUID
  /** The session that ends; another session of the same proxy is not meant. */
  readonly session: string
  /** `rebalance` asks the proxy to come back, perhaps to another replica; the others are final for the session. */
  readonly reason: 'released' | 'workload-deleted' | 'superseded' | 'connection-cap' | 'rebalance' | 'shutdown'
}

/** Policies and their parts. */
export interface PolicySource {
  /** What each proxy must do. */
  readonly policies: {
    /** Yields the policy in force as soon as there is one, then every later one, coalesced. Ends with the signal or the proxy's eviction. */
    watch(proxy: ProxyRef, signal: AbortSignal): AsyncIterable<PolicyUpdate>
  }
  /** The content behind hashes. */
  readonly parts: {
    /**
     * The part with that hash. Parts stay available while any policy step that names them is in force or has not been consumed yet.
     *
     * @throws OsmError with code `OSM_PART_UNKNOWN`
     */
    get(hash: PartHash): Promise<Part>
  }
}

/** Certificates, as narrow as a driver needs them. */
export interface DriverCertificates {
  /** The service certificate of that proxy's identity, then each that replaces it. */
  identity(proxy: ProxyRef, signal: AbortSignal): AsyncIterable<Credential>
  /** Roots that sign service certificates, then each later set. */
  trustBundles(signal: AbortSignal): AsyncIterable<TrustBundle>
  /**
   * Material behind a reference in that proxy's policy, then each that replaces it.
   *
   * @throws OsmError with code `OSM_CREDENTIAL_DENIED` if the reference does not stand in the policy
   */
  credentials(proxy: ProxyRef, ref: CredentialRef, signal: AbortSignal): AsyncIterable<Credential>
}

/** A control-plane certificate that the host replaces before it expires. */
export interface RotatingCredential {
  /** The credential in force, and the roots that proxies must be verified against, then each that replaces them. */
  watch(signal: AbortSignal): AsyncIterable<{ readonly credential: Credential; readonly clientRoots: TrustBundle }>
}

/** Sessions of proxies. */
export interface Proxies {
  /**
   * Accepts or refuses a peer. The only input is the certificate that TLS has verified; nothing a proxy says about itself counts.
   *
   * @param peer - DER of the peer's leaf certificate
   * @throws OsmError with code `OSM_PROXY_UNAUTHENTICATED`, `OSM_PROXY_UNKNOWN`, `OSM_PROXY_WRONG_CLASS` or `OSM_PROXY_EVICTED` (cap)
   */
  authenticate(peer: Uint8Array): Promise<ProxyRef>
  /** The stream of that session ended. */
  disconnected(session: string): Promise<void>
  /** Yields proxies to cut off. */
  evictions(signal: AbortSignal): AsyncIterable<Eviction>
  /** Reports what a proxy acknowledged or refused. */
  report(report: ApplyReport): Promise<void>
  /** Tells operators what is wrong with a proxy, or who was turned away: rows of `osm proxy status`. Sessions that have ended are ignored. */
  observe(observation: ProxyObservation): Promise<void>
}

/** A message of the host's broker. */
export interface Message {
  /** What it is about. */
  readonly topic: string
  /** Names of what changed. */
  readonly payload: JsonValue
}

/**
 * One topic: `meshconfig`, after each change of the configuration. Payloads name things; they carry no state and no secret. Policies and certificates have
 * streams of their own.
 */
export interface MessageBroker {
  /** Bounded: a slow subscriber loses the oldest messages and is told so by a message with topic `overflow`. */
  subscribe(topic: string, signal: AbortSignal): AsyncIterable<Message>
}

/** A request to a debug page. */
export interface DebugRequest {
  /** Without the query. */
  readonly path: string
  /** Decoded; the last of several equal names. */
  readonly query: Readonly<Record<string, string>>
}

/** The answer of a debug page. Never holds key material. */
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
   * @param path - such as `/debug/proxy`; the last registration of a path wins and the host logs it
   */
  register(path: string, handler: (request: DebugRequest) => Promise<DebugResponse>): void
}

/** Metrics under the host's registry; names and label names must be declared before use and are checked for cardinality. */
export interface DriverMetrics {
  /**
   * A count that only rises.
   *
   * @param labels - names of labels, in order
   */
  counter(
    name: string,
    help: string,
    labels: readonly string[],
  ): { inc(labels: Readonly<Record<string, string>>, by?: number): void }
  /**
   * A value that rises and falls.
   *
   * @param labels - names of labels, in order
   */
  gauge(
    name: string,
    help: string,
    labels: readonly string[],
  ): { set(labels: Readonly<Record<string, string>>, value: number): void }
  /**
   * A distribution of durations.
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

/** Structured log. Messages are fixed text; what varies stands in fields. Never keys, tokens or whole objects. */
export interface Logger {
  /** For developers of the driver. */
  debug(fields: Readonly<Record<string, unknown>>, message: string): void
  /** For operators: a decision that was taken. */
  info(fields: Readonly<Record<string, unknown>>, message: string): void
  /** For operators: something to look at, service goes on. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
  /** For operators: something does not work. */
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** Everything that {@link Driver.start} may use. */
export interface ControllerContext {
  /** IP address to listen on for the class's proxies. */
  readonly proxyServerAddress: string
  /** Port to listen on; 0 lets the driver choose. */
  readonly proxyServerPort: number
  /** What the proxy control plane shows to proxies, and verifies them against. */
  readonly proxyServiceCert: RotatingCredential
  /** Namespace of the control plane. */
  readonly osmNamespace: string
  /** MeshConfig, live. */
  readonly configurator: Configurator
  /** What proxies must do. */
  readonly meshCatalog: PolicySource
  /** Certificates of proxies' identities. */
  readonly certManager: DriverCertificates
  /** Announcements of the host. */
  readonly msgBroker: MessageBroker
  /** Sessions of proxies. */
  readonly proxies: Proxies
  /** Debug pages of the driver. */
  readonly debugHandlers: DebugHandlers
  /** Metrics of the driver. */
  readonly metrics: DriverMetrics
  /** Log of the driver. */
  readonly logger: Logger
  /** The driver's own `sidecarDrivers[].config`. */
  readonly driverConfig: JsonValue
  /** Ends this driver only. If its class is the mesh's default, the controller becomes unready. */
  cancel(reason: Error): void
  /** Aborts when the host wants the driver to stop; everything that `start` opened must then close. */
  readonly signal: AbortSignal
}
