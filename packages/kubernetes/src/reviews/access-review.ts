import { isPlainObject } from '@osm-ts/core'

import type { KubernetesApi } from '../api.js'
import type { ReviewedUser } from './token-review.js'

/** What somebody wants to do, as rules of RBAC name it. */
export interface AccessAttributes {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace: string
  readonly name: string
}

const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'

/**
 * Asks the API server whether a user may do something.
 *
 * @throws KubernetesError
 */
export async function reviewAccess(
  api: Pick<KubernetesApi, 'post'>,
  { username, uid, groups, extra }: ReviewedUser,
  attributes: AccessAttributes,
  signal: AbortSignal,
): Promise<boolean> {
  const answer = await api.post(
    ACCESS_REVIEWS,
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: username, ...(uid !== undefined && { uid }), groups, extra, resourceAttributes: attributes },
    },
    signal,
  )
  return isPlainObject(answer) && isPlainObject(answer.status) && answer.status.allowed === true
}
