import type { Problem } from '@osm-ts/core'
import type { DriverEntry, ProviderEntry } from '@osm-ts/driver-process'

/** How traffic gets into the sidecars. */
export type MeshMode = 'explicit' | 'transparent'

/** What {@link startMesh} needs. */
export interface MeshOptions {
  /** Folder of YAML. */
  readonly folder: string
  /** Folder for roots, instances and sockets; made if it is missing, kept afterwards. */
  readonly stateFolder: string
  readonly mode: MeshMode
  /** Executables by sidecar class, such as the path of Envoy for `envoy`. */
  readonly sidecarBinaries: Readonly<Record<string, string>>
  /** Bundle or module that runs the controller in its own process. The one that serves driver packages lies beside it. */
  readonly controllerProgram: string
  /** Drivers beside those that are built in. */
  readonly driverPackages?: readonly DriverEntry[]
  /** Endpoints providers, which find instances that this mesh does not start. */
  readonly endpointsProviders?: readonly ProviderEntry[]
  /** Address of this machine at which other machines may join; none can if absent. Explicit mode only. */
  readonly machineAddress?: string
  /**
   * Unix socket of a SPIFFE Workload API on this machine: sidecars of classes that can take their certificates there, and the mesh trusts its roots. None if absent.
   */
  readonly workloadApiSocket?: string
  /** Milliseconds that a workload which ends is kept serving at most, so that its callers learn of it; as long as its driver says if absent. */
  readonly maxDrainMs?: number
  /** Called for everything that happens. Must not throw. */
  readonly onEvent: (event: MeshEvent) => void
  /** Ends the mesh. */
  readonly signal: AbortSignal
  /** Environment of workloads and sidecars; `process.env` of the caller, or less. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** A request that a workload reported on its standard output, one JSON object on a line. */
export interface ReportedRequest {
  /** Milliseconds since 1970. */
  readonly time: number
  /** Name of the instance that called. */
  readonly client: string
  readonly namespace: string
  readonly target: string
  readonly path: string
  /** 0 if there was no answer. */
  readonly status: number
  readonly server?: string
  readonly error?: string
  readonly durationMs: number
}

/** Something that happened in a mesh. */
export type MeshEvent =
  | {
      readonly type: 'progress'
      readonly step: string
      readonly state: 'started' | 'done' | 'failed'
      readonly detail?: string
      readonly ms?: number
    }
  | {
      readonly type: 'workload'
      readonly instance: string
      readonly namespace: string
      readonly state: 'started' | 'exited' | 'failed'
      readonly detail?: string
    }
  | {
      readonly type: 'sidecar'
      readonly instance: string
      readonly namespace: string
      readonly state: 'started' | 'ready' | 'exited'
      readonly detail?: string
      /** Of its process, when it has started. */
      readonly pid?: number
    }
  | {
      readonly type: 'controller'
      readonly state: 'started' | 'ready' | 'exited'
      readonly detail?: string
      /** Of its process, when it has started. */
      readonly pid?: number
    }
  | {
      readonly type: 'output'
      readonly instance: string
      readonly namespace: string
      readonly stream: 'stdout' | 'stderr'
      readonly line: string
    }
  | { readonly type: 'request'; readonly request: ReportedRequest }
  /** The whole list of problems of the folder, whenever it changes. */
  | { readonly type: 'problems'; readonly problems: readonly Problem[] }

/** One running instance of a workload. */
export interface RunningInstance {
  readonly uuid: string
  readonly name: string
  readonly namespace: string
  readonly workload: string
  readonly identity: string
  readonly class: string
  readonly pid: number | undefined
  readonly sidecarPid: number | undefined
  /** Loopback address of the sidecar's administration interface. */
  readonly admin: { readonly address: string; readonly port: number } | undefined
  /** Environment that tells the workload how to reach others, as it was given. */
  readonly environment: Readonly<Record<string, string>>
}

/** A mesh that runs on this machine. */
export interface RunningMesh {
  readonly stateFolder: string
  /** Loopback URL of the controller's debug server, without a slash at the end. */
  readonly controllerUrl: () => string | undefined
  readonly controllerPid: () => number | undefined
  /** Where machines join; undefined if none can. */
  readonly machinesUrl: () => string | undefined
  readonly instances: () => readonly RunningInstance[]
  /** Resolves when every sidecar has applied its first configuration and every workload runs, or rejects with what is missing. */
  readonly ready: (timeoutMs: number) => Promise<void>
  /** Stops workloads, then sidecars, then the controller, and removes what was made on the machine. Idempotent. */
  readonly stop: () => Promise<void>
}

/** Written to `<stateFolder>/mesh.json` while a mesh runs, so that commands find it. */
export interface MeshFile {
  readonly pid: number
  readonly folder: string
  readonly mode: MeshMode
  readonly controllerUrl: string
  /** Where machines join; absent if none can. */
  readonly machinesUrl?: string
}
