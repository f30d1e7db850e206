import type { Driver } from '@osm-ts/driver-api'
import type { CertificateProvider, MeshDomains, ObjectSource, ProcessLogger } from '@osm-ts/core'

/** What a controller is made from. */
export interface ControllerOptions {
  readonly meshName: string
  readonly osmNamespace: string
  readonly domains: MeshDomains
  /** Where the mesh is written down, in order of precedence. */
  readonly sources: readonly ObjectSource[]
  /** Signs certificates; the controller keeps and rotates them. */
  readonly certificateProvider: CertificateProvider
  readonly drivers: readonly Driver[]
  /** Environment that MeshConfig falls back to, such as `OSM_DEFAULT_SIDECAR_CLASS`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Where proxies connect, by sidecar class; port 0 lets the driver choose. */
  readonly proxyServer: { readonly address: string; readonly ports: Readonly<Record<string, number>> }
  /** Names and addresses that proxies verify the proxy control plane by. */
  readonly serverNames: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] }
  /** Loopback ports; 0 lets the system choose. */
  readonly ports: { readonly debug: number; readonly health: number }
  /** What `/version` answers. */
  readonly version: { readonly version: string; readonly git_commit: string; readonly build_date: string }
  readonly logger: ProcessLogger
  readonly signal: AbortSignal
}

/** A controller that runs. */
export interface RunningController {
  /** Port of the debug server on loopback. */
  readonly debugPort: number
  /** Port of the health server on loopback. */
  readonly healthPort: number
  /** Sidecar classes whose proxy control plane runs, sorted. */
  readonly proxyClasses: readonly string[]
  /** Resolves when the controller has stopped; rejects if it stopped because a part of it failed. */
  readonly stopped: Promise<void>
}
