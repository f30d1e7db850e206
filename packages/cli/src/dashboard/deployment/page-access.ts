import { type AccessAttributes, type KubernetesApi, reviewAccess, reviewToken } from '@osm-ts/kubernetes'
import { TokenReviews } from '@osm-ts/program'

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

/** Asks the API server who holds a token, and whether they may see the page. */
export class PageAccess {
  readonly #reviews: TokenReviews<Exclude<PageVerdict, 'busy'>>

  constructor({ api, audience, permission, monotonic }: PageAccessOptions) {
    this.#reviews = new TokenReviews({
      review: async (token, signal) => {
        const review = await reviewToken(api, token, audience === '' ? undefined : audience, signal)
        // An authenticator that does not know of audiences names none.
        if (review === undefined || (audience !== '' && !review.audiences.includes(audience))) return 'unknown'
        return (await reviewAccess(api, review.user, permission, signal)) ? 'permitted' : 'forbidden'
      },
      accepted: 'permitted',
      keepMs: 30_000,
      maxRemembered: 512,
      // All readers may come from one address, such as that of a proxy.
      attempts: { perSource: { burst: 50, perSecond: 10 }, inAll: { burst: 200, perSecond: 40 } },
      monotonic,
    })
  }

  /**
   * @param source - where the request comes from
   * @throws KubernetesError if the API server does not answer
   */
  async check(token: string, source: string): Promise<PageVerdict> {
    const verdict = await this.#reviews.check(token, source)
    return verdict === 'invalid' ? 'unknown' : verdict
  }
}
