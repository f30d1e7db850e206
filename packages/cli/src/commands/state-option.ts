import { Option } from 'commander'

import type { CliContext } from '../cli-context.js'
import { findMesh, type FoundMesh, isAlive } from '../state/find-mesh.js'

/** Options of commands that speak of a running mesh. */
export interface StateFlags {
  readonly state?: string
}

/** The `--state` option. */
export function stateOption(): Option {
  return new Option('--state <folder>', 'state folder of the mesh (default: the nearest .osm-standalone, upwards)')
}

/** The mesh that the options speak of. */
export function meshOf({ cwd }: Pick<CliContext, 'cwd'>, { state }: StateFlags): FoundMesh {
  return findMesh({ state, cwd, isAlive })
}
