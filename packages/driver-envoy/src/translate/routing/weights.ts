import type { WeightedUpstream } from '@osm-ts/driver-api/policy'

/** A cluster with its share. */
export interface ClusterShare {
  readonly name: string
  readonly weight: number
}

/** The targets that get traffic, by name. Envoy's weights start at 1, so what has none is left out. */
export function positiveWeights(targets: readonly WeightedUpstream[]): readonly ClusterShare[] {
  return targets
    .filter(({ weight }) => weight > 0)
    .map(({ upstream, weight }) => ({ name: upstream, weight }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
