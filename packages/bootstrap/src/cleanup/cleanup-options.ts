import type { Clock } from '@osm-ts/core'
import type { CustomResourceDefinition, KubernetesApi } from '@osm-ts/kubernetes'

/** What a cleanup is to do. */
export interface CleanupOptions {
  readonly api: KubernetesApi
  readonly meshName: string
  readonly osmNamespace: string
  readonly configName: string
  readonly caBundleSecretName: string
  readonly definitions: readonly CustomResourceDefinition[]
  /** Delete the roots as well: proxies that run trust nothing that comes after. */
  readonly deleteCa: boolean
  /** Delete the definitions as well, and with them every object of their kinds. */
  readonly deleteCrds: boolean
  readonly clock: Clock
  readonly print: (text: string) => void
  readonly signal: AbortSignal
}
