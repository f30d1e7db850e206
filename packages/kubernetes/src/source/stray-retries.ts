import { misplacedRetry, objectRef } from '@osm-ts/core'
import type { HeldEdit } from './held-objects.js'
import type { WrittenObject } from './written-object.js'

/** What is said of each Retry outside the mesh whose source is in it. The object itself is not used. */
export function strayRetries(
  retries: readonly WrittenObject[],
  isOurs: (namespace: string) => boolean,
): readonly HeldEdit[] {
  return retries.flatMap(({ key, namespace, object }): readonly HeldEdit[] => {
    if (object?.kind !== 'Retry' || isOurs(namespace) || !isOurs(object.spec.source.namespace)) return []
    const problem = {
      code: 'OSM_SPEC_RETRY_NAMESPACE',
      severity: 'error',
      message: misplacedRetry(object.spec.source.namespace, namespace),
      field: 'spec.source.namespace',
      object: objectRef(object),
      origin: object.origin,
    } as const
    return [{ key, problems: [problem], lastGood: false }]
  })
}
