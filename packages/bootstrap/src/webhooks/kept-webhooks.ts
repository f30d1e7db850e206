import type { KubernetesApi } from '@osm-ts/kubernetes'

import type { KeptObject } from '../reconcile/kept-object.js'
import { webhookConfigurationName, type WebhookKind, type WebhookTrust, webhookType } from './webhook-configurations.js'
import type { WebhookSettings } from './webhook-settings.js'
import { webhookFingerprint, writeWebhookConfiguration, type WriteExtent } from './write-webhook-configuration.js'

/** What {@link keptWebhooks} are made of. */
export interface KeptWebhooksOptions {
  readonly api: KubernetesApi
  readonly settings: WebhookSettings
  readonly reconcile: boolean
  /** What is trusted now. */
  readonly trust: () => WebhookTrust
  readonly extent: () => WriteExtent
}

/** Both webhook configurations. */
export function keptWebhooks({ api, settings, reconcile, trust, extent }: KeptWebhooksOptions): readonly KeptObject[] {
  const kinds: readonly WebhookKind[] = ['mutating', 'validating']
  return kinds.map((kind) => ({
    type: webhookType(kind),
    name: webhookConfigurationName(kind, settings),
    fingerprint: webhookFingerprint,
    write: (signal) =>
      writeWebhookConfiguration(api, { kind, settings, trust: trust(), reconcile, extent: extent() }, signal),
  }))
}
