import { compareText, type WeightedUpstream } from '@osm-ts/driver-api/policy'

import type { Shares } from '../config/types.js'

/** Upstreams that get any traffic, sorted. */
export function sharesOf(targets: readonly WeightedUpstream[]): Shares {
  return targets
    .filter(({ weight }) => weight > 0)
    .map(({ upstream, weight }) => ({ upstream, weight }))
    .sort((a, b) => compareText(a.upstream, b.upstream))
}
