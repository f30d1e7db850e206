import type { Clock, Random } from '@osm-ts/core'
import type { CustomResourceDefinition, KubernetesApi } from '@osm-ts/kubernetes'
import type { DriverMetrics, Logger } from '@osm-ts/driver-api'

import type { WebhookSettings } from './webhooks/webhook-configurations.js'

/** What a bootstrap is made from. */
export interface BootstrapOptions {
  readonly api: KubernetesApi
  readonly webhooks: WebhookSettings
  readonly definitions: readonly CustomResourceDefinition[]
  /** Name of the MeshConfig. */
  readonly configName: string
  readonly caBundleSecretName: string
  readonly enableMeshRootCertificate: boolean
  /** Restore what was altered or deleted. */
  readonly enableReconciler: boolean
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: DriverMetrics
  /** Tells users, by an event. */
  readonly report: (reason: string, message: string) => void
  /** Everything is in place. */
  readonly onReady: () => void
  readonly signal: AbortSignal
}
