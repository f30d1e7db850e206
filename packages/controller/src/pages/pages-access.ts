import { createHash } from 'node:crypto'

import { controllerPagesAudience } from '@osm-ts/core'
import { type KubernetesApi, reviewToken } from '@osm-ts/kubernetes'
import { AttemptLimiter } from '@osm-ts/program'

/** Who may read pages. */
export interface PagesAccessOptions {
  readonly api: Pick<KubernetesApi, 'post'>
  readonly meshName: string
  readonly osmNamespace: string
  /** Name of the one service account, in the namespace of the control plane. */
  readonly serviceAccount: string
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number
}

/** Whether a request is permitted: `busy` where too many tokens are to be reviewed. */
export type PagesVerdict = 'permitted' | 'refused' | 'busy'

/** A token that the API server has accepted is not reviewed again for this long. */
const REVIEW_MS = 60_000
/** Tokens that are remembered: a pod gets another one within the hour. */
const MAX_REMEMBERED = 64
/** Longest token that is passed on. */
const MAX_TOKEN_CHARACTERS = 8_192
const TIMEOUT_MS = 10_000
/** Reviews of tokens that were not accepted before. */
const ATTEMPTS = { perSource: { burst: 10, perSecond: 0.5 }, inAll: { burst: 50, perSecond: 10 } } as const

/** Permits one service account, by tokens of its pods that are for this purpose. The API server says whose a token is. */
export class PagesAccess {
  readonly #options: PagesAccessOptions
  readonly #attempts: AttemptLimiter
  /** When tokens were accepted last, by their hashes. */
  readonly #accepted = new Map<string, number>()

  constructor(options: PagesAccessOptions) {
    this.#options = options
    this.#attempts = new AttemptLimiter(ATTEMPTS, options.monotonic)
  }

  /**
   * @param authorization - header of the request
   * @param source - where it comes from
   * @throws KubernetesError if the API server does not answer
   */
  async check(authorization: string | undefined, source: string): Promise<PagesVerdict> {
    const [, token] = /^Bearer ([\w.~+/=-]+)$/.exec(authorization ?? '') ?? []
    if (token === undefined || token.length > MAX_TOKEN_CHARACTERS) return 'refused'
    const hash = createHash('sha256').update(token).digest('base64')
    const acceptedAt = this.#accepted.get(hash)
    if (acceptedAt !== undefined && this.#options.monotonic() - acceptedAt < REVIEW_MS) return 'permitted'
    // One that was accepted before does not wait for those of others.
    if (acceptedAt === undefined && !this.#attempts.take(source)) return 'busy'
    this.#accepted.delete(hash)
    if (!(await this.#isPermitted(token))) return 'refused'
    this.#accepted.set(hash, this.#options.monotonic())
    const [oldest] = this.#accepted.keys()
    if (this.#accepted.size > MAX_REMEMBERED && oldest !== undefined) this.#accepted.delete(oldest)
    return 'permitted'
  }

  async #isPermitted(token: string): Promise<boolean> {
    const { api, meshName, osmNamespace, serviceAccount } = this.#options
    const audience = controllerPagesAudience(meshName)
    const review = await reviewToken(api, token, audience, AbortSignal.timeout(TIMEOUT_MS))
    return (
      review !== undefined &&
      // An authenticator that does not know of audiences names none.
      review.audiences.includes(audience) &&
      review.user.username === `system:serviceaccount:${osmNamespace}:${serviceAccount}`
    )
  }
}
