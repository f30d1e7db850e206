import type { KubernetesApi } from '@osm-ts/kubernetes'

/**
 * First minor versions of Kubernetes 1 with which a feature is used.
 *
 * Kubelets have had native sidecars without a feature gate since 1.29, and may be three versions older than the API server, which is
 * the only one that is asked. An older kubelet starts no workload beside such a sidecar.
 */
const SIDECAR_CONTAINERS = 32
const SLEEPING_HOOKS = 30

/** How `--native-sidecar` chooses. */
export type NativeSidecarMode = 'auto' | 'on' | 'off'

/** What pods of a cluster can have. */
export interface ClusterFeatures {
  readonly nativeSidecars: boolean
  readonly sleepingHooks: boolean
}

/** Asks the API server for its version. Native sidecars are used where all kubelets must know them, unless a flag says otherwise. */
export async function clusterFeatures(
  mode: NativeSidecarMode,
  api: Pick<KubernetesApi, 'read'>,
  signal: AbortSignal,
): Promise<ClusterFeatures> {
  const version = (await api.read('/version', signal)) as
    { readonly major?: unknown; readonly minor?: unknown } | undefined
  const major = Number.parseInt(String(version?.major), 10)
  // Some distributions write `29+`.
  const minor = Number.parseInt(String(version?.minor), 10)
  const knows = (first: number): boolean => major > 1 || (major === 1 && minor >= first)
  return {
    nativeSidecars: mode === 'auto' ? knows(SIDECAR_CONTAINERS) : mode === 'on',
    sleepingHooks: knows(SLEEPING_HOOKS),
  }
}
