import type { SidecarVolume } from '../sidecar-volume.js'

/** What is read of a pod, in the form that the API server gives. Optional where Kubernetes has it so. */
export interface PodFields {
  readonly spec?: {
    readonly serviceAccountName?: string
    readonly restartPolicy?: string
    readonly hostname?: string
    readonly subdomain?: string
    readonly containers?: readonly ContainerFields[]
    readonly initContainers?: readonly ContainerFields[]
    readonly volumes?: readonly SidecarVolume[]
  }
  readonly status?: {
    readonly phase?: string
    readonly podIP?: string
    readonly podIPs?: readonly { readonly ip?: string }[]
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[]
    readonly containerStatuses?: readonly ContainerStatusFields[]
  }
}

/** What is read of a container. */
export interface ContainerFields {
  readonly name?: string
  /** Its own, where it is not that of the pod. */
  readonly restartPolicy?: string
  /** Exceptions to it, by exit code. */
  readonly restartPolicyRules?: readonly RestartRule[]
  readonly ports?: readonly {
    readonly name?: string
    readonly containerPort?: number
    readonly protocol?: string
  }[]
  readonly volumeMounts?: readonly { readonly name?: string }[]
}

/** An exception to a restart policy. */
export interface RestartRule {
  readonly exitCodes?: { readonly operator?: string; readonly values?: readonly number[] }
}

/** What is read of the state of a container. */
export interface ContainerStatusFields {
  readonly name?: string
  readonly state?: { readonly terminated?: { readonly exitCode?: number } }
}
