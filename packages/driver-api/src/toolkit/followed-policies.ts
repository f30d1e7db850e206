import type { PolicySource, ProxyRef } from '../controller-context.js'
import type { PartHash } from '../policy/parts.js'
import type { PolicyUpdate } from '../policy/policy.js'
import { partRefs } from '../policy/references.js'
import type { PartStore } from './part-store.js'

/**
 * Follows the policy of a proxy. From the time that a step is given until the next one, the store holds everything that it refers to; when the reader stops, it holds nothing of
 * it any more.
 *
 * @param signal - ends the stream
 * @throws OsmError with code `OSM_PART_UNKNOWN` if a part is unavailable
 */
export async function* followPolicies(
  policies: PolicySource['policies'],
  parts: PartStore,
  proxy: ProxyRef,
  signal: AbortSignal,
): AsyncGenerator<PolicyUpdate, void, undefined> {
  let held: readonly PartHash[] = []
  try {
    for await (const update of policies.watch(proxy, signal)) {
      const wanted = partRefs(update.proxy)
      await parts.retain(wanted)
      parts.release(held)
      held = wanted
      yield update
    }
  } finally {
    parts.release(held)
  }
}
