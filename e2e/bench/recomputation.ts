import { decodeManifests } from '@osm-ts/core/testing'

import { ComputedPolicies } from './computed-policies.js'
import { generateHubMesh, hubAnnouncement } from './mesh.js'

/** What one change of an endpoint has computed, in a mesh with some proxies that can't reach it. Counted, not timed. */
export interface Recomputation {
  readonly strangers: number
  readonly counts: readonly RecomputationCounts[]
  /** By which the counts differ most from those with fewer strangers; 0 for the first. */
  readonly difference: number
}

/** Of one change. */
export interface RecomputationCounts {
  readonly kind: 'comes' | 'moves'
  /** Values of all kinds that were computed again. */
  readonly computedValues: number
  /** Parts of policies among them. */
  readonly computedParts: number
  /** Proxies whose policy became another. */
  readonly touchedProxies: number
}

/** Changes the same endpoint in meshes of different sizes. One service may call it; each proxy is its own service. */
export function measureRecomputation(strangers: readonly number[]): readonly Recomputation[] {
  const counted = strangers.map((count) => ({ strangers: count, counts: countsWith(count) }))
  const first = counted[0]?.counts
  return counted.map((each) => ({ ...each, difference: first === undefined ? 0 : differenceOf(first, each.counts) }))
}

function countsWith(strangers: number): readonly RecomputationCounts[] {
  const proxies = strangers + 1
  const mesh = generateHubMesh({ services: proxies, proxies, everyoneCallsHub: false })
  const policies = new ComputedPolicies()
  const { computation } = policies
  policies.start(decodeManifests([...mesh.policy, ...mesh.instances]))
  return (['comes', 'moves'] as const).map((kind, index) => {
    computation.resetCounters()
    const changes = policies.change(decodeManifests([mesh.movable(index)]), hubAnnouncement)
    const computed = [...computation.counters()].map(([query, counts]) => ({ query, computed: counts.computed }))
    const sum = (list: typeof computed): number => list.reduce((total, each) => total + each.computed, 0)
    return {
      kind,
      computedValues: sum(computed),
      computedParts: sum(computed.filter(({ query }) => query.endsWith('-part') || query.endsWith('-set'))),
      touchedProxies: changes.length,
    }
  })
}

function differenceOf(before: readonly RecomputationCounts[], after: readonly RecomputationCounts[]): number {
  const differences = before.flatMap((counts, index) => {
    const other = after[index]
    if (other === undefined) return []
    return (['computedValues', 'computedParts', 'touchedProxies'] as const).map((name) =>
      Math.abs(counts[name] - other[name]),
    )
  })
  return Math.max(...differences)
}
