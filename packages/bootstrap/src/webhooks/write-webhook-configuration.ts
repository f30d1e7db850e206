import type { KubernetesApi, KubernetesManifest, KubernetesObject } from '@osm-ts/kubernetes'

import { fingerprint } from '../reconcile/kept-object.js'
import { RECONCILE_LABEL } from '../mesh-identity.js'
import { writeObject } from '../write-object.js'
import {
  CONFIGURATION_ANNOTATION,
  trustAnnotations,
  type Webhook,
  webhookConfiguration,
  webhookConfigurationName,
  type WebhookKind,
  type WebhookSettings,
  type WebhookTrust,
  webhookType,
  withCaBundle,
} from './webhook-configurations.js'

/**
 * How much is written: `whole` brings every field in order; `changed` does so where the program would now write something
 * else than it wrote last, and otherwise leaves to the users what they have made of it; `trust` only sets the caBundle of
 * a configuration that is there.
 */
export type WriteExtent = 'whole' | 'changed' | 'trust'

/** What to write. */
export interface WebhookWrite {
  readonly kind: WebhookKind
  readonly settings: WebhookSettings
  readonly trust: WebhookTrust
  readonly reconcile: boolean
  readonly extent: WriteExtent
}

/**
 * Writes a configuration and gives it as the API server holds it; undefined if there is none and only its trust was to be
 * set.
 *
 * @throws KubernetesError, or OsmError with a code of `OSM_BOOTSTRAP_*`
 */
export async function writeWebhookConfiguration(
  api: KubernetesApi,
  write: WebhookWrite,
  signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  const { kind, settings, trust, reconcile } = write
  const ours = webhookConfiguration(kind, settings, trust, reconcile)
  return writeObject(
    api,
    {
      type: webhookType(kind),
      name: { namespace: '', name: webhookConfigurationName(kind, settings) },
      wanted: (live) => {
        if (live === undefined) return write.extent === 'trust' ? undefined : ours
        const unchanged =
          live.metadata.annotations?.[CONFIGURATION_ANNOTATION] ===
          ours.metadata.annotations?.[CONFIGURATION_ANNOTATION]
        const onlyTrust = write.extent === 'trust' || (write.extent === 'changed' && unchanged)
        return onlyTrust ? withTrust(live, ours.webhooks, trust) : overlay(live, ours)
      },
    },
    signal,
  )
}

/** What of a configuration the reconciler keeps as it was written. */
export function webhookFingerprint(object: KubernetesObject): string {
  const { labels = {}, deletionTimestamp } = object.metadata
  const ours = Object.entries(labels).filter(
    ([name]) => name === 'app' || name === RECONCILE_LABEL || name.startsWith('app.kubernetes.io/'),
  )
  return fingerprint({
    labels: Object.fromEntries(ours),
    deleting: deletionTimestamp !== undefined,
    webhooks: webhooksOf(object),
  })
}

/** Webhooks of a configuration; the API server has checked what it stores. */
export function webhooksOf(object: KubernetesObject): readonly Webhook[] {
  return (object.webhooks ?? []) as readonly Webhook[]
}

/** Ours in place of whatever is there; labels and annotations of others stay. */
function overlay(live: KubernetesObject, ours: KubernetesManifest): KubernetesManifest {
  const { [RECONCILE_LABEL]: _reconcile, ...labels } = live.metadata.labels ?? {}
  return {
    ...ours,
    metadata: {
      ...live.metadata,
      labels: { ...labels, ...ours.metadata.labels },
      annotations: { ...live.metadata.annotations, ...ours.metadata.annotations },
    },
  }
}

/** What is there with our trust; undefined if it has that already. */
function withTrust(
  live: KubernetesObject,
  ours: readonly Webhook[],
  trust: WebhookTrust,
): KubernetesManifest | undefined {
  const names = new Set(ours.map(({ name }) => name))
  const before = webhooksOf(live)
  const webhooks = before.map((webhook) => (names.has(webhook.name) ? withCaBundle(webhook, trust.pem) : webhook))
  if (fingerprint(before) === fingerprint(webhooks)) return undefined
  const annotations = { ...live.metadata.annotations, ...trustAnnotations(trust) }
  return { ...live, metadata: { ...live.metadata, annotations }, webhooks }
}
