import { createHash } from 'node:crypto'

import { AttemptLimiter, type AttemptLimits } from './attempt-limiter.js'

/** How bearer tokens are reviewed. */
export interface TokenReviewsOptions<Verdict extends string> {
  /** Asks who holds a token, and what that account may do. */
  readonly review: (token: string, signal: AbortSignal) => Promise<Verdict>
  /** The verdict that counts for a while. Others are asked for each time. */
  readonly accepted: Verdict
  /** Milliseconds for which it counts: a permission that is withdrawn ends within them. */
  readonly keepMs: number
  /** Accepted tokens that are remembered, by their hashes. */
  readonly maxRemembered: number
  /** Reviews of tokens that were not accepted before. */
  readonly attempts: { readonly perSource: AttemptLimits; readonly inAll: AttemptLimits }
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number
}

/** Longest token that is passed on. */
const MAX_TOKEN_CHARACTERS = 8_192
const TIMEOUT_MS = 10_000

/**
 * Reviews bearer tokens, and remembers those that were accepted. `invalid`: the text is no token. `busy`: too many tokens are to be reviewed; one
 * that was accepted before does not wait for those of others.
 */
export class TokenReviews<Verdict extends string> {
  readonly #options: TokenReviewsOptions<Verdict>
  readonly #attempts: AttemptLimiter
  /** When tokens were accepted, by their hashes. */
  readonly #accepted = new Map<string, number>()
  /** Reviews on their way. The limit of attempts bounds them. */
  readonly #running = new Map<string, Promise<Verdict>>()

  constructor(options: TokenReviewsOptions<Verdict>) {
    this.#options = options
    this.#attempts = new AttemptLimiter(options.attempts, options.monotonic)
  }

  /**
   * @param source - where the request comes from
   * @throws what the review throws; nothing is remembered then
   */
  async check(token: string, source: string): Promise<Verdict | 'invalid' | 'busy'> {
    const { accepted, keepMs, monotonic } = this.#options
    if (token.length > MAX_TOKEN_CHARACTERS || !/^[\w.~+/=-]+$/.test(token)) return 'invalid'
    const hash = createHash('sha256').update(token).digest('base64')
    const acceptedAt = this.#accepted.get(hash)
    if (acceptedAt !== undefined && monotonic() - acceptedAt < keepMs) return accepted
    const running = this.#running.get(hash)
    if (running !== undefined) return running
    if (acceptedAt === undefined && !this.#attempts.take(source)) return 'busy'
    const review = this.#review(token, hash)
    this.#running.set(hash, review)
    try {
      return await review
    } finally {
      this.#running.delete(hash)
    }
  }

  async #review(token: string, hash: string): Promise<Verdict> {
    const { review, accepted, maxRemembered, monotonic } = this.#options
    const verdict = await review(token, AbortSignal.timeout(TIMEOUT_MS))
    this.#accepted.delete(hash)
    if (verdict !== accepted) return verdict
    this.#accepted.set(hash, monotonic())
    const [oldest] = this.#accepted.keys()
    if (this.#accepted.size > maxRemembered && oldest !== undefined) this.#accepted.delete(oldest)
    return verdict
  }
}
