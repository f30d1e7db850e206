import type { Metrics, ProcessLogger } from '@osm-ts/core'
import { type ServingKey, type WebhookServer, webhookServer } from '@osm-ts/program'

import type { PodReviewer } from './reviewer.js'

/** What the webhook serves with. */
export interface PodWebhookOptions {
  readonly reviewer: Pick<PodReviewer, 'review'>
  readonly key: ServingKey
  /** PEM, see `WebhookServerOptions`. */
  readonly clientCa?: string | undefined
  /** How long the API server waits where it does not say so itself. */
  readonly timeoutMs: number
  readonly logger: ProcessLogger
  readonly metrics: Metrics
}

/** Path of the webhook, as OSM has it. */
const PATH = '/mutate-pod-creation'
/** Twice what the API server stores of an object at most. */
const BODY_LIMIT = 3 * 1024 * 1024

/** The mutating webhook: `POST /mutate-pod-creation` over TLS 1.3. */
export function podWebhook({ reviewer, ...options }: PodWebhookOptions): WebhookServer {
  return webhookServer({
    ...options,
    path: PATH,
    kinds: ['Pod'],
    bodyLimit: BODY_LIMIT,
    review: (request, timeoutMs) => reviewer.review(request, timeoutMs),
  })
}
