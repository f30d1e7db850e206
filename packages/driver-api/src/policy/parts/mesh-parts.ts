import type { Principal } from '../../identity.js'
import type { CredentialRef } from './values.js'

/** TLS protocol versions in the vocabulary of MeshConfig. `TLS_AUTO` leaves the choice to the proxy. */
export type TlsVersion = 'TLS_AUTO' | 'TLSv1_0' | 'TLSv1_1' | 'TLSv1_2' | 'TLSv1_3'

/** The service certificate of a proxy and its key come from a SPIFFE Workload API beside it, and never from the control plane. */
export interface WorkloadApiCredential {
  readonly kind: 'workload-api'
}

/** Roots and TLS parameters for the verification of peers of the mesh. Contains public data only. */
export interface TrustPart {
  readonly kind: 'trust'
  readonly id: 'trust'
  /** The trust domain that peers must belong to. */
  readonly trustDomain: string
  /** Roots that may have signed a service certificate, PEM, newest first. Two while a root rotates. */
  readonly roots: readonly string[]
  /** Never below TLSv1_2: the host raises or refuses. */
  readonly minVersion: TlsVersion
  /** If below `minVersion`, no connection is accepted or opened. */
  readonly maxVersion: TlsVersion
  /** In order of preference; empty means the proxy's defaults. */
  readonly cipherSuites: readonly string[]
  /** In order of preference; empty means the proxy's defaults. */
  readonly ecdhCurves: readonly string[]
  /** Offered by clients of the mesh, selected by no server. */
  readonly alpn: 'osm'
  /**
   * Absent: the host gives the proxy its service certificate (`certManager.identity`). Present: the proxy takes the one with the SPIFFE ID of its policy from the socket
   * that `InjectorContext.workloadApi` named, and the host gives it none.
   */
  readonly serviceCredential?: WorkloadApiCredential
}

/** An attribute that is added to each log record. */
export interface LogAttribute {
  /** Name of the attribute. */
  readonly key: string
  /** A constant. */
  readonly value: string
}

/** Sends access logs to an OpenTelemetry collector over gRPC. */
export interface OpenTelemetryAccessLog {
  /** DNS name or IP address of the collector. */
  readonly host: string
  /** 1 to 65535. */
  readonly port: number
  /** Milliseconds; absent means {@link MeshPart.connectTimeoutMs}. */
  readonly connectTimeoutMs?: number
  /** Sorted by key. */
  readonly attributes: readonly LogAttribute[]
}

/** Access log of every request and TCP connection. */
export interface AccessLog {
  /** False writes none. */
  readonly enabled: boolean
  /** `json`: one object per line. `text`: one line. */
  readonly format: 'json' | 'text'
  /** Replaces the default keys or line; in the notation of Envoy's format strings, as OSM's Telemetry takes it. */
  readonly template?: string
  /** Sink in addition to standard output. */
  readonly openTelemetry?: OpenTelemetryAccessLog
}

/** Collector of spans. */
export interface Tracing {
  /** `zipkin`: version 2, JSON over HTTP. `opentelemetry`: OTLP over HTTP. */
  readonly provider: 'zipkin' | 'opentelemetry'
  /** DNS name or IP address. */
  readonly host: string
  /** 1 to 65535. */
  readonly port: number
  /** HTTP path of the collector. */
  readonly endpoint: string
  /** Share of requests whose trace starts here, 0 to 1. */
  readonly sampledFraction: number
}

/** Sends a record of each request, bodies included, to an HTTP collector. */
export interface RemoteLogging {
  /** DNS name or IP address. */
  readonly host: string
  /** 1 to 65535. */
  readonly port: number
  /** HTTP path with query. */
  readonly endpoint: string
  /** 0: no trace headers. 1: made inbound where absent. 2: made outbound as well. */
  readonly level: 0 | 1 | 2
  /** Share of requests that are recorded, 0 to 1. */
  readonly sampledFraction: number
  /** Value of the `authorization` header. */
  readonly authorization?: CredentialRef
}

/** Settings that are the same for every proxy of the mesh; a Telemetry that selects workloads gives those another `mesh` part. */
export interface MeshPart {
  readonly kind: 'mesh'
  readonly id: 'mesh'
  /** Name of the mesh. */
  readonly meshName: string
  /** The sidecar's own log. */
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warning' | 'error' | 'critical' | 'off'
  /** Access log of the sidecar. */
  readonly accessLog: AccessLog
  /** Absent: no spans. */
  readonly tracing?: Tracing
  /** Absent: no remote log. */
  readonly remoteLogging?: RemoteLogging
  /** True: `osm_request_total` and `osm_request_duration_ms` with the labels of both sides. */
  readonly requestMetrics: boolean
  /** Connect timeout towards upstreams that set none, in milliseconds. */
  readonly connectTimeoutMs: number
  /** Milliseconds without a byte in either direction after which a TCP connection is closed; 0 keeps it. */
  readonly tcpIdleTimeoutMs: number
  /** Milliseconds without a byte in either direction after which an HTTP request is ended; 0 keeps it. */
  readonly streamIdleTimeoutMs: number
  /** True chooses an endpoint for each HTTP/1.1 request. False allows one endpoint for each connection of the workload. */
  readonly http1PerRequestLoadBalancing: boolean
  /** True chooses an endpoint for each HTTP/2 request. False allows one endpoint for each connection of the workload. */
  readonly http2PerRequestLoadBalancing: boolean
  /** True passes traffic to destinations unknown to the mesh. */
  readonly egressEnabled: boolean
  /** Maximum time that an open TCP connection or upgraded stream continues after the removal of the rule that allowed it, in milliseconds. */
  readonly withdrawalTimeoutMs: number
  /** True: a called HTTP proxy itself answers `HEALTH_CHECK_PATH` with the header `HEALTH_CHECK_HEADER`, 200 without asking the workload. */
  readonly activeHealthChecks: boolean
  /**
   * Present: a request header reaches the workload even if its name differs in `-` and `_` alone from one that a rule of the served port names. Absent:
   * such headers are removed (`otherSpellings` of `namedHeaders`). Headers for identities are removed in every spelling either way.
   */
  readonly keepsOtherSpellings?: true
  /**
   * Absent: a served port answers 400 to a path with an escaped slash or backslash. Present: it forwards the path as it was sent. A rule then applies only if
   * its path condition holds for every reading: the path as sent, the path with its escapes as slashes, and the latter with runs of slashes as one. An
   * exact condition looks at the path as sent alone. A dot segment in any reading is still answered 400.
   */
  readonly keepsEscapedSlashes?: true
}

/** The allowed callers: either every identity of the trust domain, or a list. "Any valid certificate" cannot be expressed. */
export type PrincipalsPart =
  /** Every principal of `trustDomain`; `id` is free text that names the purpose. */
  | { readonly kind: 'principals'; readonly id: string; readonly match: 'trustDomain'; readonly trustDomain: string }
  /** These principals, sorted; an empty list allows no caller. */
  | {
      readonly kind: 'principals'
      readonly id: string
      readonly match: 'list'
      readonly principals: readonly Principal[]
    }
