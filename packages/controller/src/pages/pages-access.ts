import { controllerPagesAudience } from '@osm-ts/core'
import { type KubernetesApi, reviewToken } from '@osm-ts/kubernetes'
import { TokenReviews } from '@osm-ts/program'

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

/** Permits one service account, by tokens of its pods that are for this purpose. The API server says whose a token is. */
export class PagesAccess {
  readonly #reviews: TokenReviews<Exclude<PagesVerdict, 'busy'>>

  constructor({ api, meshName, osmNamespace, serviceAccount, monotonic }: PagesAccessOptions) {
    const audience = controllerPagesAudience(meshName)
    const username = `system:serviceaccount:${osmNamespace}:${serviceAccount}`
    this.#reviews = new TokenReviews({
      review: async (token, signal) => {
        const review = await reviewToken(api, token, audience, signal)
        // An authenticator that does not know of audiences names none.
        return review?.audiences.includes(audience) === true && review.user.username === username
          ? 'permitted'
          : 'refused'
      },
      accepted: 'permitted',
      keepMs: 60_000,
      // A pod gets another token within the hour.
      maxRemembered: 64,
      attempts: { perSource: { burst: 10, perSecond: 0.5 }, inAll: { burst: 50, perSecond: 10 } },
      monotonic,
    })
  }

  /**
   * @param authorization - header of the request
   * @param source - where it comes from
   * @throws KubernetesError if the API server does not answer
   */
  async check(authorization: string | undefined, source: string): Promise<PagesVerdict> {
    const [, token] = /^Bearer (.+)$/.exec(authorization ?? '') ?? []
    const verdict = token === undefined ? 'invalid' : await this.#reviews.check(token, source)
    return verdict === 'invalid' ? 'refused' : verdict
  }
}
