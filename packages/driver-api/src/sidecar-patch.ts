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
  /** Made by the driver. */
  | { readonly text: Value }
  /**
   * `bootstrap.key` and `bootstrap.chain` are the proxy certificate (PEM, PKCS#8), replaced in place when it rotates;
   * `trustBundle` holds the roots of the control plane, the one that signs first. `trustBundle.last` is the last of them alone, another one than the first
   * while one takes the place of the other: for programs that read no more than the first certificate of a file.
   */
  | { readonly from: 'bootstrap.key' | 'bootstrap.chain' | 'trustBundle' | 'trustBundle.last' }

/** A file that the host puts into a directory that only the sidecar reads. */
export interface SidecarFile {
  /** File name of at most 128 characters: lower-case letters, digits, `.`, `_`, `-`; the first a letter or digit. */
  readonly path: string
  /** What stands in it. */
  readonly content: FileContent
}

/** A port that the sidecar listens on. */
export interface SidecarPort {
  /** At most 15 characters, as Kubernetes demands. */
  readonly name: string
  /** 1 to 65535. */
  readonly port: number
  /** Transport. */
  readonly protocol: 'TCP' | 'UDP'
}

/** Amounts in Kubernetes notation, such as `100m` and `64Mi`, by name of the resource. */
export interface Resources {
  /** What the sidecar can't exceed. */
  readonly limits?: Readonly<Record<string, string>>
  /** What is reserved for it. */
  readonly requests?: Readonly<Record<string, string>>
}

/** A way to tell the sidecar something. */
export type Action =
  /** Sent to the sidecar's main process. */
  | { readonly kind: 'signal'; readonly signal: 'SIGTERM' | 'SIGINT' | 'SIGQUIT' | 'SIGUSR1' | 'SIGUSR2' }
  /** A request without a body to the sidecar, over loopback. */
  | { readonly kind: 'http'; readonly method: 'GET' | 'POST'; readonly port: number; readonly path: string }
  /** Run beside the sidecar: executable and arguments. */
  | { readonly kind: 'command'; readonly command: readonly Value[] }

/** A variable of a container's environment. */
export interface EnvironmentVariable {
  /** Name of the variable. */
  readonly name: string
  /** Never a secret: environments are shown by many tools. */
  readonly value: Value
}

/** What the sidecar process may do. */
export interface SidecarSecurity {
  /** Numeric user id; not 0. */
  readonly runAsUser: number
  /** True: it writes to its own {@link SidecarPatch.volumes} only. */
  readonly readOnlyRootFilesystem: boolean
}

/** The process that carries the data plane. */
export interface SidecarContainer {
  /** Container image. */
  readonly image: string
  /** Executable that a local host looks for; in a container the image's own entry point is replaced by `command`. */
  readonly binary: string
  /**
   * What stands before the binary in a container: a program with its arguments that runs the sidecar as its child. Absent: the sidecar is the first
   * process, to which the kernel passes no signal that it has no handler for. Hosts that run processes leave it out.
   */
  readonly keeper?: readonly Value[]
  /** Full command line after the binary. */
  readonly args: readonly Value[]
  /** Its environment, in order. */
  readonly env: readonly EnvironmentVariable[]
  /** Ports that others may know of. */
  readonly ports: readonly SidecarPort[]
  /** Absent: what {@link InjectorContext.resources} says. */
  readonly resources?: Resources
  /** What it may do. */
  readonly security: SidecarSecurity
}

/** What the sidecar needs from traffic interception. Absent with interception mode `none`. */
export interface InterceptionNeeds {
  /** Where redirected inbound connections go. */
  readonly inboundPort: number
  /** Where redirected outbound connections go. */
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
  /** A DNS label that starts with `<driver name>-`. */
  readonly name: string
  /** Container image. */
  readonly image: string
  /** Executable and arguments. */
  readonly command: readonly Value[]
  /** Its environment, in order. */
  readonly env: readonly EnvironmentVariable[]
}

/** A question that the sidecar answers over HTTP. */
export interface ReadyRequest {
  /** 1 to 65535. */
  readonly port: number
  /** Path with query. */
  readonly path: string
  /** The status that means yes. */
  readonly status: number
}

/** How to ask the sidecar whether it carries traffic. */
export interface Ready {
  /** The question. */
  readonly http: ReadyRequest
  /** Milliseconds between two questions. */
  readonly periodMs: number
}

/** How to end the sidecar's work without cutting what is open. */
export interface Drain {
  /** Stops accepting. */
  readonly action: Action
  /** Milliseconds to wait in any case, so that clients learn of it. */
  readonly minMs: number
  /** Milliseconds after which the sidecar is ended although connections are open. */
  readonly maxMs: number
}

/** Where the sidecar shows metrics. */
export interface MetricsEndpoint {
  /** 1 to 65535. */
  readonly port: number
  /** HTTP path. */
  readonly path: string
}

/** Where the sidecar is administered. */
export interface AdminEndpoint {
  /** 1 to 65535, on the loopback address. */
  readonly port: number
}

/** An empty directory of the sidecar's own. */
export interface OwnVolume {
  /** A DNS label that starts with `<driver name>-`. */
  readonly name: string
  /** Absolute path at which the sidecar sees it. */
  readonly mountPath: string
  /** Kubernetes notation, such as `16Mi`. */
  readonly sizeLimit?: string
}

/** What {@link Driver.patch} returns. */
export interface SidecarPatch {
  /** The sidecar itself. */
  readonly sidecar: SidecarContainer
  /** Files that it reads. */
  readonly files: readonly SidecarFile[]
  /** True answer: the first configuration has been applied. "The process runs" is not enough. */
  readonly ready: Ready
  /** Stops accepting new work and waits; absent if {@link Capabilities.drain} is false. */
  readonly drain?: Drain
  /** Ends the sidecar. */
  readonly quit: Action
  /** Prometheus text format, without TLS. */
  readonly metrics?: MetricsEndpoint
  /** Loopback only. */
  readonly admin?: AdminEndpoint
  /** Absent with interception mode `none`. */
  readonly interception?: InterceptionNeeds
  /** Keys must start with `<driver name>.sidecar.openservicemesh.io/`. */
  readonly annotations: Readonly<Record<string, string>>
  /** Run before the workload, in order. */
  readonly initContainers: readonly InitContainer[]
  /** Empty directories for the sidecar's own use. */
  readonly volumes: readonly OwnVolume[]
}
