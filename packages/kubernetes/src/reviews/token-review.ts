import { isPlainObject } from '@osm-ts/core'

import type { KubernetesApi } from '../api.js'

/** Somebody whom the API server has authenticated. */
export interface ReviewedUser {
  readonly username: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** What the API server says of a token. */
export interface ReviewedToken {
  readonly user: ReviewedUser
  /** Those of the request that the token is for. Empty where the authenticator does not know of audiences. */
  readonly audiences: readonly string[]
}

const TOKEN_REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'

/**
 * Asks the API server whose token it is; undefined for one that it refuses.
 *
 * @param audience - whom the token must be for; undefined: the API server itself
 * @throws KubernetesError
 */
export async function reviewToken(
  api: Pick<KubernetesApi, 'post'>,
  token: string,
  audience: string | undefined,
  signal: AbortSignal,
): Promise<ReviewedToken | undefined> {
  const answer = await api.post(
    TOKEN_REVIEWS,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, ...(audience !== undefined && { audiences: [audience] }) },
    },
    signal,
  )
  const status = isPlainObject(answer) && isPlainObject(answer.status) ? answer.status : {}
  const { authenticated, audiences, user } = status
  if (authenticated !== true || !isPlainObject(user) || typeof user.username !== 'string') return undefined
  return {
    user: {
      username: user.username,
      ...(typeof user.uid === 'string' && { uid: user.uid }),
      groups: texts(user.groups),
      extra: isPlainObject(user.extra)
        ? Object.fromEntries(Object.entries(user.extra).map(([name, values]) => [name, texts(values)]))
        : {},
    },
    audiences: texts(audiences),
  }
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
