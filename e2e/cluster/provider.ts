/** Something about this machine, or about what was asked for, that the user can put right. Shown without a stack. */
export class ClusterError extends Error {
  override readonly name = 'ClusterError'
}

/** What a cluster is asked to be. */
export interface ClusterSettings {
  /** Part of the names of everything that the cluster has on this machine. */
  readonly name: string
  readonly nodes: number
}

/** A running cluster. */
export interface ClusterDescription {
  readonly name: string
  readonly provider: string
  /** Path of the kubeconfig of its administrator. */
  readonly kubeconfig: string
  readonly nodes: readonly string[]
  /** Where the logs of its programs are; absent where the provider keeps them elsewhere. */
  readonly logs?: string
}

/** What `status` found. */
export interface ClusterStatus {
  /** `partial`: something of the cluster is there, but it does not work; `up` recreates it and `down` removes it. */
  readonly state: 'up' | 'partial' | 'down'
  /** In words, one finding each. */
  readonly findings: readonly string[]
  readonly cluster?: ClusterDescription
}

/** An image in an archive that is an OCI layout. */
export interface ImageArchive {
  /** Full, as nodes know it: `registry/name:tag`. */
  readonly name: string
  /** Digest of the manifest. */
  readonly digest: string
  readonly path: string
}

/** Where clusters come from. */
export interface ClusterProvider {
  /** Makes the cluster, or finds it running. */
  up(signal: AbortSignal): Promise<ClusterDescription>
  /** Puts images where the nodes find them, and gives the names of those that were not there already. */
  load(images: readonly ImageArchive[], signal: AbortSignal): Promise<readonly string[]>
  status(signal: AbortSignal): Promise<ClusterStatus>
  /** Removes everything of the cluster, also what an interrupted `up` has left. Does nothing if there is nothing. */
  down(signal: AbortSignal): Promise<void>
}
