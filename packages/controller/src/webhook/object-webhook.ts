import { allKinds, kindDefinitions, type Metrics, type ProcessLogger, writtenKind } from '@osm-ts/core'
import { type AdmissionAnswer, type ServingKey, type WebhookServer, webhookServer } from '@osm-ts/program'

import type { AdmissionVerdict } from './object-findings.js'
import type { ObjectReviewer } from './object-reviewer.js'

/** What the webhook serves with. */
export interface ObjectWebhookOptions {
  readonly reviewer: Pick<ObjectReviewer, 'reviewInSteps'>
  readonly key: ServingKey
  /** PEM, see `WebhookServerOptions`. */
  readonly clientCa?: string | undefined
  readonly metrics: Metrics
  readonly logger: ProcessLogger
}

const PATH = '/validate'
/** An API server stores objects of 1.5 MiB; a review holds two of them, and says some more. */
export const MAX_REVIEW_OCTETS = 3.5 * 1024 * 1024
/** Reasons of a denial that the log repeats. */
const MAX_LOGGED = 5
/** Reviews are answered from available data; none of them times out. */
const TIMEOUT_MS = 30_000

/** The validating webhook: `POST /validate` over TLS 1.3. */
export function objectWebhook({ reviewer, ...options }: ObjectWebhookOptions): WebhookServer {
  return webhookServer({
    ...options,
    path: PATH,
    kinds: reviewedKinds(),
    bodyLimit: MAX_REVIEW_OCTETS,
    timeoutMs: TIMEOUT_MS,
    review: async (request, _timeoutMs, work) => {
      const verdict = await work(reviewer.reviewInSteps(request))
      if (verdict.denials.length > 0) {
        const { kind, namespace, name } = request
        options.logger.info(
          { kind, namespace, name, reasons: verdict.denials.slice(0, MAX_LOGGED) },
          'refused an object',
        )
      }
      return answerOf(verdict)
    },
  })
}

/** Kinds that people write and that are not Kubernetes' own. */
function reviewedKinds(): readonly string[] {
  const reviewed = allKinds().filter((kind) => {
    const { writtenBy, partial } = kindDefinitions[kind]
    return writtenBy === 'user' && !partial
  })
  return [...new Set(reviewed.map(writtenKind))]
}

function answerOf({ denials, warnings }: AdmissionVerdict): AdmissionAnswer {
  if (denials.length === 0) return { allowed: true, warnings }
  return { allowed: false, code: 422, reason: 'Invalid', message: denials.join('; '), warnings }
}
