import { proxyKeyOfInstance, type ProxyKey } from '../../../identity/index.js'
import type { KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, textKey, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { instanceOfProxy, instancesByUuid, type ProxyClaim } from '../../inputs/inputs.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'

/** Who carries a uuid. */
interface ProxyClaims {
  /** Key of the one proxy whose instance is older than all that carry the uuid under another identity; undefined where no one can tell. */
  readonly first: ProxyKey | undefined
  /** How many instances carry each whole identity. */
  readonly counts: Readonly<Record<ProxyKey, number>>
}

/** Computed once for a uuid, however many carry it. */
const proxyClaims = defineQuery<CatalogState, string, ProxyClaims>({
  name: 'proxy-claims',
  keyOf: textKey,
  equal: deepEqual,
  compute: (context, uuid) => {
    const claims = context.get(instancesByUuid, uuid)
    const counts = new Map<ProxyKey, number>()
    for (const { proxy } of claims) counts.set(proxy, (counts.get(proxy) ?? 0) + 1)
    return { first: firstOf(claims), counts: Object.fromEntries(counts) }
  },
})

function firstOf(claims: readonly ProxyClaim[]): ProxyKey | undefined {
  const times = claims.map(({ createdAt }) => Date.parse(createdAt))
  const earliest = times.reduce((a, b) => Math.min(a, b), Infinity)
  const first = new Set(claims.filter((_, index) => times[index] === earliest).map(({ proxy }) => proxy))
  const [only, another] = first
  return another === undefined ? only : undefined
}

/**
 * What is wrong with the uuid of an instance. Only what its own namespace can see is said of others: an instance is never told of one in another namespace
 * that came after it, and never which one came before it.
 */
export function proxyClaimProblems(
  context: QueryContext<CatalogState>,
  instance: KindMap['WorkloadInstance'],
): readonly PolicyProblem[] {
  const { namespace, name } = instance.metadata
  const { uuid } = instance.spec
  const proxy = proxyKeyOfInstance(instance)
  const { first, counts } = context.get(proxyClaims, uuid)
  const problems = new ProblemList(objectRefOf('WorkloadInstance', { namespace, name }))
  const count = counts[proxy] ?? 1
  if (count > 1) {
    const owner = context.get(instanceOfProxy, proxy)?.name ?? name
    const holds = owner === name ? 'this one has the proxy' : `${owner} has the proxy and this one has none`
    const message = `${count} instances have uuid ${uuid}, namespace ${namespace} and service account ${instance.spec.serviceAccountName}; as the oldest, ${holds}. Restart the others, so that each gets a sidecar of its own`
    problems.error('OSM_POLICY_PROXY_DUPLICATE', 'spec.uuid', message)
  }
  if (first !== undefined && first !== proxy) {
    const message = `${uuid} is the uuid of the sidecar of an older instance, of another namespace or service account, which is not affected; only an injector may assign uuids: restart this instance`
    problems.warning('OSM_POLICY_PROXY_UUID', 'spec.uuid', message)
  }
  return problems.items
}
