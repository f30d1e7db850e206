/** How many attempts are permitted: a number at once, which grows back in time. */
export interface AttemptLimits {
  readonly burst: number
  readonly perSecond: number
}

interface Bucket {
  tokens: number
  at: number
}

/** Sources that are remembered. Beyond that the oldest is forgotten, and the limit of all sources is what holds. */
const MAX_SOURCES = 10_000

/** Limits attempts of each source and of all together: anyone who reaches the port may guess. */
export class AttemptLimiter {
  readonly #perSource: AttemptLimits
  readonly #inAll: AttemptLimits
  readonly #now: () => number
  readonly #sources = new Map<string, Bucket>()
  readonly #all: Bucket

  /** @param now - milliseconds since any moment */
  constructor(limits: { readonly perSource: AttemptLimits; readonly inAll: AttemptLimits }, now: () => number) {
    this.#perSource = limits.perSource
    this.#inAll = limits.inAll
    this.#now = now
    this.#all = { tokens: limits.inAll.burst, at: now() }
  }

  /** Whether one more attempt of the source is permitted, which then counts. */
  take(source: string): boolean {
    const bucket = this.#sources.get(source) ?? { tokens: this.#perSource.burst, at: this.#now() }
    // Moved to the end: the first one is the one that was quiet for the longest time.
    this.#sources.delete(source)
    this.#sources.set(source, bucket)
    const [oldest] = this.#sources.keys()
    if (this.#sources.size > MAX_SOURCES && oldest !== undefined) this.#sources.delete(oldest)
    // A source beyond its own limit uses up nothing of what others have.
    return this.#takeOf(bucket, this.#perSource) && this.#takeOf(this.#all, this.#inAll)
  }

  #takeOf(bucket: Bucket, { burst, perSecond }: AttemptLimits): boolean {
    const now = this.#now()
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) * perSecond) / 1000)
    bucket.at = now
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }
}
