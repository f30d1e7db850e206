import { OsmError } from '@osm-ts/driver-api'

import type { InjectorErrorCode } from '../error-codes.js'

/** How many Secrets may be written. */
export interface SecretBudgetOptions {
  /** A second, over all namespaces. 0: no limit. */
  readonly rate: number
  /** A second, in one namespace. 0: no limit. */
  readonly namespaceRate: number
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number
}

/** Seconds of its rate that a bucket holds when it is full: what starts at once, such as a Deployment that is scaled up, is let through. */
const BURST_SECONDS = 10
/** Buckets that have filled up again say nothing; they are cleared away when there are so many. */
const MAX_BUCKETS = 1000

/** What is left, and when that was so. */
interface Bucket {
  tokens: number
  at: number
}

/**
 * Limits the Secrets that are written, by a token bucket for each namespace and one for all.
 *
 * The API server shows no certificate unless it is configured to, so that anyone who reaches the webhook can pass for it. A Secret that is written for no one
 * stays until the leader removes it minutes later: the bounds are what keeps etcd from filling up until then.
 */
export class SecretBudget {
  readonly #options: SecretBudgetOptions
  readonly #all: Bucket
  readonly #namespaces = new Map<string, Bucket>()

  constructor(options: SecretBudgetOptions) {
    this.#options = options
    this.#all = fullBucket(options.rate, options.monotonic())
  }

  /**
   * Counts a Secret that is about to be written.
   *
   * @throws OsmError `OSM_INJECT_RATE`
   */
  spend(namespace: string): void {
    const { rate, namespaceRate, monotonic } = this.#options
    const now = monotonic()
    const own = this.#bucketOf(namespace, now)
    if (!hasToken(own, namespaceRate, now))
      throw exhausted(`in namespace ${namespace}`, namespaceRate, 'namespace-secret-rate')
    if (!hasToken(this.#all, rate, now)) throw exhausted('of the mesh by this osm-injector', rate, 'secret-rate')
    own.tokens -= 1
    this.#all.tokens -= 1
  }

  #bucketOf(namespace: string, now: number): Bucket {
    const known = this.#namespaces.get(namespace)
    if (known !== undefined) return known
    if (this.#namespaces.size >= MAX_BUCKETS) this.#clearAway(now)
    const bucket = fullBucket(this.#options.namespaceRate, now)
    this.#namespaces.set(namespace, bucket)
    return bucket
  }

  #clearAway(now: number): void {
    for (const [namespace, { at }] of this.#namespaces)
      if (now - at > BURST_SECONDS * 1000) this.#namespaces.delete(namespace)
  }
}

function fullBucket(rate: number, at: number): Bucket {
  return { tokens: rate * BURST_SECONDS, at }
}

/** True if there is one, after what has come in since. */
function hasToken(bucket: Bucket, rate: number, now: number): boolean {
  if (rate === 0) return true
  bucket.tokens = Math.min(rate * BURST_SECONDS, bucket.tokens + ((now - bucket.at) * rate) / 1000)
  bucket.at = now
  return bucket.tokens >= 1
}

function exhausted(where: string, rate: number, flag: string): OsmError {
  return new OsmError<InjectorErrorCode>(
    'OSM_INJECT_RATE',
    `more than ${rate} pods a second are injected ${where}; what makes the pod tries again. If so many are meant, raise --${flag} of osm-injector; ` +
      'if not, find out who sends reviews to it',
  )
}
