/**
 * The additions of a driver to a workload, as data. One patch becomes an injected container, a native sidecar, or a local process.
 *
 * The host checks a patch against an allow-list: a driver can add its own sidecar, files, init containers, volumes and annotations
 * under its own prefix, and cannot change anything else of the pod.
 */

/** A value that only the host knows when the sidecar starts. */
export type Reference =
  /** Path of one of {@link SidecarPatch.files} in the sidecar's file system. */
  | { readonly ref: 'file'; readonly path: string }
  /** A fact of the workload. `address` is the primary IP address, `instance` the pod name or the process's name. */
  | {
      readonly ref: 'workload'
      readonly field: 'address' | 'instance' | 'namespace' | 'serviceAccount' | 'uid' | 'node'
    }

/** Text with references, concatenated without separator. */
export type Value = string | readonly (string | Reference)[]

/** Content of a file of the sidecar. Key material is always a reference: the driver has no access to it. */
export type FileContent =
  /** Made by the driver. */
  | { readonly text: Value }
  /**
   * `bootstrap.key` and `bootstrap.chain` are the proxy certificate (PEM, PKCS#8), replaced in place when it rotates;
   * `trustBundle` contains the roots of the control plane, the signing root first. `trustBundle.last` contains only the last root, which differs from the first
   * during a root rotation: for programs that read only the first certificate of a file.
   */
  | { readonly from: 'bootstrap.key' | 'bootstrap.chain' | 'trustBundle' | 'trustBundle.last' }

/** A file that the host creates in a directory that only the sidecar can read. */
export interface SidecarFile {
  /** File name of at most 128 characters: lower-case letters, digits, `.`, `_`, `-`; the first a letter or digit. */
  readonly path: string
  /** Content of the file. */
  readonly content: FileContent
}

/** A port that the sidecar listens on. */
export interface SidecarPort {
  /** At most 15 characters, as required by Kubernetes. */
  readonly name: string
  /** 1 to 65535. */
  readonly port: number
  /** Transport. */
  readonly protocol: 'TCP' | 'UDP'
}

/** Amounts in Kubernetes notation, such as `100m` and `64Mi`, by name of the resource. */
export interface Resources {
  /** Limits. */
  readonly limits?: Readonly<Record<string, string>>
  /** Requests. */
  readonly requests?: Readonly<Record<string, string>>
}

/** A command to the sidecar: a signal, an HTTP request, or a program. */
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
  /** Never a secret: many tools display environment variables. */
  readonly value: Value
}

/** Privileges of the sidecar process. */
export interface SidecarSecurity {
  /** Numeric user id; not 0. */
  readonly runAsUser: number
  /** True: it can write to its own {@link SidecarPatch.volumes} only. */
  readonly readOnlyRootFilesystem: boolean
}

/** The data plane process. */
export interface SidecarContainer {
  /** Container image. */
  readonly image: string
  /** Executable that a local host looks for; in a container the image's own entry point is replaced by `command`. */
  readonly binary: string
  /**
   * Wrapper of the binary in a container: a program with its arguments that runs the sidecar as its child. Absent: the sidecar is the first
   * process, which receives only signals that it handles. Hosts that run processes ignore it.
   */
  readonly initWrapper?: readonly Value[]
  /** Full command line after the binary. */
  readonly args: readonly Value[]
  /** Its environment, in order. */
  readonly env: readonly EnvironmentVariable[]
  /** Ports to declare. */
  readonly ports: readonly SidecarPort[]
  /** Absent: {@link InjectorContext.resources}. */
  readonly resources?: Resources
  /** Its privileges. */
  readonly security: SidecarSecurity
}

/** Traffic interception for the sidecar. Absent with interception mode `none`. */
export interface InterceptionNeeds {
  /** Port for redirected inbound connections. */
  readonly inboundPort: number
  /** Port for redirected outbound connections. */
  readonly outboundPort: number
  /** Traffic of this user is never redirected. */
  readonly proxyUid: number
  /** Own ports that are excluded from inbound redirection, sorted. */
  readonly excludedInboundPorts: readonly number[]
  /** UDP port of a local DNS proxy. */
  readonly dnsPort?: number
  /** False makes the host refuse IPv6 in the workload's network namespace. */
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

/** An HTTP check of the sidecar. */
export interface ReadyRequest {
  /** 1 to 65535. */
  readonly port: number
  /** Path with query. */
  readonly path: string
  /** The status of success. */
  readonly status: number
}

/** Readiness check of the sidecar. */
export interface Ready {
  /** The HTTP check. */
  readonly http: ReadyRequest
  /** Milliseconds between two checks. */
  readonly periodMs: number
}

/** How to drain the sidecar without closing open connections. */
export interface Drain {
  /** Command to stop accepting connections. */
  readonly action: Action
  /** Minimum time to wait in milliseconds, so that clients are informed. */
  readonly minMs: number
  /** Milliseconds after which the sidecar is stopped even if connections are open. */
  readonly maxMs: number
}

/** Metrics endpoint of the sidecar. */
export interface MetricsEndpoint {
  /** 1 to 65535. */
  readonly port: number
  /** HTTP path. */
  readonly path: string
}

/** Administration endpoint of the sidecar. */
export interface AdminEndpoint {
  /** 1 to 65535, on the loopback address. */
  readonly port: number
}

/** An empty directory for the sidecar. */
export interface OwnVolume {
  /** A DNS label that starts with `<driver name>-`. */
  readonly name: string
  /** Absolute path in the sidecar. */
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
  /** Succeeds when the first configuration has been applied. A running process is not sufficient. */
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
