import type { Locality } from '@osm-ts/driver-api/policy'

import { unknownLocality } from './endpoint.js'

/** Labels that nodes have, and pods of nodes since Kubernetes 1.35. */
const regionLabel = 'topology.kubernetes.io/region'
const zoneLabel = 'topology.kubernetes.io/zone'

/** Where a workload runs, by its labels; what an endpoint slice says of the zone holds before them. */
export function localityOf(labels: Readonly<Record<string, string>> | undefined, zoneOfSlice?: string): Locality {
  const { [regionLabel]: region = '', [zoneLabel]: labelled = '' } = labels ?? {}
  const zone = zoneOfSlice ?? labelled
  return region === '' && zone === '' ? unknownLocality : { region, zone, subZone: '' }
}
