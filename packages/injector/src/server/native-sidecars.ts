import type { KubernetesApi } from '@osm-ts/core'

/** First minor version of Kubernetes 1 in which init containers can go on running without a feature gate. */
const FIRST_MINOR = 29

/** How `--native-sidecar` chooses. */
export type NativeSidecarMode = 'auto' | 'on' | 'off'

/** Whether sidecars are native ones: where the API server knows them, unless a flag says otherwise. */
export async function usesNativeSidecars(
  mode: NativeSidecarMode,
  api: Pick<KubernetesApi, 'read'>,
  signal: AbortSignal,
): Promise<boolean> {
  if (mode !== 'auto') return mode === 'on'
  const version = (await api.read('/version', signal)) as
    { readonly major?: unknown; readonly minor?: unknown } | undefined
  const major = Number.parseInt(String(version?.major), 10)
  // Some distributions write `29+`.
  const minor = Number.parseInt(String(version?.minor), 10)
  return major > 1 || (major === 1 && minor >= FIRST_MINOR)
}
