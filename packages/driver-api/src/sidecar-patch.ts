/**
 * What a driver adds to a workload, as data. One patch becomes an injected container, a native sidecar, or a local process.
 *
 * The host checks a patch against an allow-list before it is used: a driver can add its own sidecar, files, init containers, volumes and annotations
 * under its own prefix, and touch nothing else of the pod.
 */

/** Something that only the host knows when the sidecar is about to run. */
export type Reference =
  /** Path of one of {@link SidecarPatch.files} where the sidecar sees it. */
  | { readonly ref: 'file'; readonly path: string }
  /** A fact of the workload. `address` is the primary IP address, `instance` the pod name or the process's name. */
  | {
      readonly ref: 'workload'
      readonly field: 'address' | 'instance' | 'namespace' | 'serviceAccount' | 'uid' | 'node'
    }

/** Text with references, concatenated without separator. */
export type Value = string | readonly (string | Reference)[]

/** Content of a file of the sidecar. Key material is always a reference: the driver never sees it. */
export type FileContent =
  | { readonly text: Value }
  /**
   * `bootstrap.key` and `bootstrap.chain` are the proxy certificate (PEM, PKCS#8), replaced in place when it rotates;
   * `trustBundle` holds the roots of the control plane.
   */
  | { readonly from: 'bootstrap.key' | 'bootstrap.chain' | 'trustBundle' }

/** A file that the host puts into a directory that only the sidecar reads. */
export interface SidecarFile {
  /** Relative file name: lower-case letters, digits, `.`, `_`, `-`; no separators. */
  readonly path: string
  readonly content: FileContent
}

/** A port that the sidecar listens on. */
export interface SidecarPort {
  /** At most 15 characters, as Kubernetes demands. */
  readonly name: string
  readonly port: number
  readonly protocol: 'TCP' | 'UDP'
}

/** Amounts in Kubernetes notation, such as `100m` and `64Mi`. */
export interface Resources {
  readonly limits?: Readonly<Record<string, string>>
  readonly requests?: Readonly<Record<string, string>>
}

/** A way to tell the sidecar something. */
export type Action =
  | { readonly kind: 'signal'; readonly signal: 'SIGTERM' | 'SIGINT' | 'SIGQUIT' | 'SIGUSR1' | 'SIGUSR2' }
  | { readonly kind: 'http'; readonly method: 'GET' | 'POST'; readonly port: number; readonly path: string }
  | { readonly kind: 'command'; readonly command: readonly Value[] }

/** The process that carries the data plane. */
export interface SidecarContainer {
  readonly image: string
  /** Executable that a local host looks for; in a container the image's own entry point is replaced by `command`. */
  readonly binary: string
  /** Full command line after the binary. */
  readonly args: readonly Value[]
  readonly env: readonly { readonly name: string; readonly value: Value }[]
  readonly ports: readonly SidecarPort[]
  readonly resources?: Resources
  readonly security: {
    readonly runAsUser: number
    readonly readOnlyRootFilesystem: boolean
  }
}

/** What the sidecar needs from traffic interception. Absent with interception mode `none`. */
export interface InterceptionNeeds {
  readonly inboundPort: number
  readonly outboundPort: number
  /** Traffic of this user is never redirected. */
  readonly proxyUid: number
  /** Own ports that inbound redirection must leave alone, sorted. */
  readonly excludedInboundPorts: readonly number[]
  /** UDP port of a local DNS proxy. */
  readonly dnsPort?: number
  /** False makes the host refuse IPv6 in the workload's network namespace, rather than leave it open. */
  readonly ipv6: boolean
}

/** An additional container that runs before the workload. */
export interface InitContainer {
  readonly name: string
  readonly image: string
  readonly command: readonly Value[]
  readonly env: readonly { readonly name: string; readonly value: Value }[]
}

/** What {@link Driver.patch} returns. */
export interface SidecarPatch {
  readonly sidecar: SidecarContainer
  readonly files: readonly SidecarFile[]
  /** True answer: the first configuration has been applied. "The process runs" is not enough. */
  readonly ready: {
    readonly http: { readonly port: number; readonly path: string; readonly status: number }
    readonly periodMs: number
  }
  /** Stops accepting new work and waits; absent if {@link Capabilities.drain} is false. */
  readonly drain?: { readonly action: Action; readonly minMs: number; readonly maxMs: number }
  /** Ends the sidecar. */
  readonly quit: Action
  readonly metrics?: { readonly port: number; readonly path: string }
  /** Loopback only. */
  readonly admin?: { readonly port: number }
  readonly interception?: InterceptionNeeds
  /** Keys must start with `<driver name>.sidecar.openservicemesh.io/`. */
  readonly annotations: Readonly<Record<string, string>>
  readonly initContainers: readonly InitContainer[]
  /** Empty directories for the sidecar's own use. */
  readonly volumes: readonly { readonly name: string; readonly mountPath: string; readonly sizeLimit?: string }[]
}
