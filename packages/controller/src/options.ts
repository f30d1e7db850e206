import type { Driver } from '@osm-ts/driver-api'
import type { HostDriversOptions } from '@osm-ts/driver-process'
import type {
  CertificateManager,
  CertificateProvider,
  ConnectedSidecars,
  DriverHost,
  DriverRegistry,
  EndpointsProvider,
  Enrolment,
  LoopWatch,
  MeshCatalog,
  MeshConfig,
  MeshConfigSpec,
  MeshConfigurator,
  MeshDomains,
  Metrics,
  ObjectSource,
  ProcessLogger,
  SecretSource,
  Snapshot,
  SnapshotFeed,
  SpecRules,
} from '@osm-ts/core'
import type { NamedEndpointsProvider } from '@osm-ts/kubernetes'

import type { RotationView } from './certificates/rotation-view.js'
import type { DebugPage } from './debug-server.js'
import type { EndpointsPlugins, EndpointsPluginsOptions } from './endpoints-plugins.js'
import type { ProblemWatch } from './problem-watch.js'

/** Reads endpoints of Services that are named one by one. */
export type OutsideServices = Pick<NamedEndpointsProvider, 'follow' | 'settled'>

/** What a controller is made from. */
export interface ControllerOptions {
  readonly meshName: string
  readonly osmNamespace: string
  readonly domains: MeshDomains
  /** Where the mesh is written down, in order of precedence. */
  readonly sources: readonly ObjectSource[]
  /** Where Secrets are read that policies name. */
  readonly secrets: SecretSource
  /** Where services run, in order of precedence. Called once, after the sources were read. */
  readonly endpointsProviders: (feed: SnapshotFeed) => readonly EndpointsProvider[]
  /** Endpoints providers beside those, which run in processes of their own. */
  readonly endpointsPlugins?: EndpointsPluginsOptions
  /** Where endpoints of Services outside the mesh are read that policies name; absent where none can be. */
  readonly outsideServices?: OutsideServices
  /** Which namespaces take part. */
  readonly enrolment: Enrolment
  readonly meshConfig: MeshConfigOptions
  /** Signs certificates; the controller keeps and rotates them. A function opens what signs, once the mesh was read. */
  readonly certificateProvider: CertificateProvider | ProviderOpener
  /** Where roots beside those of {@link certificateProvider} come from; absent where only that one's sidecars are trusted. */
  readonly workloadApi?: WorkloadApiOptions
  /** True: a MeshRootCertificate decides who issues; false if absent. */
  readonly readsRootCertificates?: boolean
  readonly drivers: readonly Driver[]
  /** Drivers beside those, which run in processes of their own. */
  readonly otherDrivers?: Pick<HostDriversOptions, 'entries' | 'programFolder' | 'environment'>
  /** Environment that MeshConfig falls back to, such as `OSM_DEFAULT_SIDECAR_CLASS`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Where proxies connect. A port of 0 lets the driver choose. */
  readonly proxyServer: {
    readonly address: string
    readonly port: (sidecarClass: string, config: MeshConfig) => number
  }
  /** Names and addresses that proxies verify the proxy control plane by. */
  readonly serverNames: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] }
  /** Address that the health and debug servers listen on. */
  readonly bindAddress: string
  /** Ports; 0 lets the system choose. */
  readonly ports: { readonly debug: number; readonly health: number }
  /** `configured`: the debug server runs while MeshConfig says `enableDebugServer`. */
  readonly debugServer: 'always' | 'configured'
  /** What `/version` answers. */
  readonly version: { readonly version: string; readonly git_commit: string; readonly build_date: string }
  /** Registered metrics; sources and others may have put theirs in. */
  readonly metrics: Metrics
  /** What runs beside the proxy control planes; started after them, in this order. */
  readonly attachments?: readonly Attachment[]
  readonly logger: ProcessLogger
  readonly signal: AbortSignal
}

/** A SPIFFE Workload API that gives certificates to sidecars. */
export interface WorkloadApiOptions {
  /** Path of its Unix socket, as the controller sees it. */
  readonly socketPath: string
}

/** Opens what signs certificates. Until it resolves, no proxy is served: the controller is alive and not ready. */
export type ProviderOpener = (feed: SnapshotFeed, signal: AbortSignal) => Promise<OpenedProvider>

/** A certificate provider that was opened. */
export interface OpenedProvider {
  readonly provider: CertificateProvider
  /** Resolves when it has ended with the signal; rejects if it failed, which ends the controller. */
  readonly stopped: Promise<void>
  /** Told how to find the connected sidecars, and those that have not confirmed all that they were given. */
  readonly confirmBy?: (sidecars: () => ConnectedSidecars) => void
  /** How far a change of the provider is; absent for a provider that never changes. */
  readonly rotation?: RotationView
}

/** Which MeshConfig holds, and what where it says nothing. */
export interface MeshConfigOptions {
  /** Its name; osm-mesh-config when absent. */
  readonly name?: string
  /** True: where the namespace of the control plane holds none, the first one of any namespace counts. */
  readonly anyNamespace: boolean
  /** What holds where it says nothing. */
  readonly preset?: MeshConfigSpec
  /**
   * True: no proxy is served before there is one, the last one holds when it is deleted or emptied, and what only a restart can change stays as it was. False:
   * defaults hold where there is none.
   */
  readonly required: boolean
}

/** The parts of a controller that attachments may use. */
export interface ControllerParts {
  readonly meshName: string
  readonly osmNamespace: string
  readonly domains: MeshDomains
  readonly feed: SnapshotFeed
  readonly configurator: MeshConfigurator
  readonly certificates: CertificateManager
  /** Absent for a certificate provider that never changes. */
  readonly rotation: RotationView | undefined
  readonly catalog: MeshCatalog
  readonly host: DriverHost
  readonly registry: DriverRegistry
  readonly rules: SpecRules
  readonly plugins: Pick<EndpointsPlugins, 'reports' | 'onStateChange'>
  readonly metrics: Metrics
  /** Everything that is wrong with what users wrote, sorted by place. */
  readonly problems: ProblemWatch
  /** The objects from which the policies in force were computed; undefined before there are any. */
  readonly computed: () => Snapshot | undefined
  /** The debug pages, those of drivers included. */
  readonly pages: () => ReadonlyMap<string, DebugPage>
  readonly loop: Pick<LoopWatch, 'run'>
  readonly logger: ProcessLogger
  readonly signal: AbortSignal
}

/** Something that runs beside the proxy control planes: a webhook, the duties of a leader. Resolves when it has started. */
export type Attachment = (parts: ControllerParts) => Promise<RunningAttachment>

/** An attachment that runs. */
export interface RunningAttachment {
  /** Asked for every `/health/ready`. */
  readonly ready: () => Promise<boolean>
  /** Resolves when it has ended with the signal; rejects if it failed, which ends the controller. */
  readonly stopped: Promise<void>
}

/** A controller that runs. */
export interface RunningController {
  /** Port of the debug server; undefined while it does not run. */
  readonly debugPort: number | undefined
  /** Port of the health server. */
  readonly healthPort: number
  /** Sidecar classes whose proxy control plane runs, sorted. */
  readonly proxyClasses: readonly string[]
  /** Resolves when the controller has stopped; rejects if it stopped because a part of it failed. */
  readonly stopped: Promise<void>
}
