import { createHash } from 'node:crypto'

import { type AccessAttributes, type KubernetesApi, reviewAccess, reviewToken } from '@osm-ts/kubernetes'
import { AttemptLimiter } from '@osm-ts/program'

/** Whether somebody may see the page. `unknown`: the API server does not know the token. `busy`: too many tokens are to be reviewed. */
export type PageVerdict = 'permitted' | 'forbidden' | 'unknown' | 'busy'

/** How readers are known, and what they need. */
export interface PageAccessOptions {
  readonly api: Pick<KubernetesApi, 'post'>
  /** Whom tokens must be for; empty: the API server itself. */
  readonly audience: string
  /** What a reader must be allowed to do. */
  readonly permission: AccessAttributes
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number
}

interface Review {
  readonly verdict: Promise<PageVerdict>
  readonly until: number
}

/** Longest token that is passed on. */
const MAX_TOKEN_CHARACTERS = 8_192
/** How long an answer of the API server counts: a permission that is withdrawn ends within it. */
const REVIEW_MS = 30_000
/** Tokens that are remembered, by their hashes. */
const MAX_REMEMBERED = 512
const TIMEOUT_MS = 10_000
/** Reviews: all readers may come from one address, such as that of a proxy. */
const ATTEMPTS = { perSource: { burst: 50, perSecond: 10 }, inAll: { burst: 200, perSecond: 40 } } as const

/** Asks the API server who holds a token, and whether they may see the page. */
export class PageAccess {
  readonly #options: PageAccessOptions
  readonly #attempts: AttemptLimiter
  readonly #reviews = new Map<string, Review>()

  constructor(options: PageAccessOptions) {
    this.#options = options
    this.#attempts = new AttemptLimiter(ATTEMPTS, options.monotonic)
  }

  /**
   * @param source - where the request comes from
   * @throws KubernetesError if the API server does not answer
   */
  async check(token: string, source: string): Promise<PageVerdict> {
    const { monotonic } = this.#options
    if (token.length > MAX_TOKEN_CHARACTERS || !/^[\w.~+/=-]+$/.test(token)) return 'unknown'
    const hash = createHash('sha256').update(token).digest('base64')
    const known = this.#reviews.get(hash)
    if (known !== undefined && monotonic() < known.until) return known.verdict
    if (!this.#attempts.take(source)) return 'busy'
    const review = { verdict: this.#review(token), until: monotonic() + REVIEW_MS }
    this.#reviews.delete(hash)
    this.#reviews.set(hash, review)
    const [oldest] = this.#reviews.keys()
    if (this.#reviews.size > MAX_REMEMBERED && oldest !== undefined) this.#reviews.delete(oldest)
    try {
      return await review.verdict
    } catch (error) {
      if (this.#reviews.get(hash) === review) this.#reviews.delete(hash)
      throw error
    }
  }

  async #review(token: string): Promise<PageVerdict> {
    const { api, audience, permission } = this.#options
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const review = await reviewToken(api, token, audience === '' ? undefined : audience, signal)
    // An authenticator that does not know of audiences names none.
    if (review === undefined || (audience !== '' && !review.audiences.includes(audience))) return 'unknown'
    return (await reviewAccess(api, review.user, permission, signal)) ? 'permitted' : 'forbidden'
  }
}
