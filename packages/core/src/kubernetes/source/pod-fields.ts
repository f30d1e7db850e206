/** What is read of a pod, in the form that the API server gives. Optional where Kubernetes has it so. */
export interface PodFields {
  readonly spec?: {
    readonly serviceAccountName?: string
    readonly hostname?: string
    readonly subdomain?: string
    readonly containers?: readonly ContainerFields[]
    readonly initContainers?: readonly (ContainerFields & { readonly restartPolicy?: string })[]
  }
  readonly status?: {
    readonly phase?: string
    readonly podIP?: string
    readonly podIPs?: readonly { readonly ip?: string }[]
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[]
  }
}

/** What is read of a container. */
export interface ContainerFields {
  readonly name?: string
  readonly ports?: readonly {
    readonly name?: string
    readonly containerPort?: number
    readonly protocol?: string
  }[]
}
