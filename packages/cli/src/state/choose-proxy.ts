import type { ProxyStatus } from '@osm-ts/core'

import { cliError } from '../errors.js'

/**
 * The proxy that a name on the command line stands for: its uuid, `<namespace>/<instance>`, or `<instance>` where only one namespace has it.
 *
 * @throws OsmError when there is none, or more than one
 */
export function chooseProxy(statuses: readonly ProxyStatus[], wanted: string): ProxyStatus {
  const found = statuses.filter(({ uuid, name }) => [uuid, name, name.slice(name.indexOf('/') + 1)].includes(wanted))
  const [only, ...others] = found
  if (only !== undefined && others.length === 0) return only
  const names = (only === undefined ? statuses : found).map(({ name }) => name).sort()
  throw cliError(
    'OSM_CLI_INSTANCE',
    only === undefined ? `there is no instance ${wanted}` : `${wanted} matches several instances`,
    names.length === 0 ? 'the mesh has no instances yet' : `choose one of ${names.join(', ')}`,
  )
}
