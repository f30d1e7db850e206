import { statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'
import { checkEnvoyVersion, findController, findEnvoy } from '../find-programs.js'
import type { RunMeshOptions } from '../live/run-mesh.js'
import { STATE_FOLDER } from '../state/find-mesh.js'

/** Options of all commands that run a mesh. */
export interface RunFlags {
  readonly transparent?: boolean
  readonly state?: string
  readonly envoy?: string
}

/** What those options stand for. */
export async function runOptions(
  context: CliContext,
  folder: string,
  flags: RunFlags,
): Promise<Omit<RunMeshOptions, 'startMesh' | 'onEvent' | 'now'>> {
  const options = {
    ...meshFolder(context.cwd, folder),
    stateFolder: resolve(context.cwd, flags.state ?? join('.', STATE_FOLDER)),
    mode: flags.transparent === true ? 'transparent' : 'explicit',
    sidecarBinaries: { envoy: findEnvoy(context, flags.envoy) },
    controllerProgram: findController(context.programFolder),
  } as const
  await checkEnvoyVersion(options.sidecarBinaries.envoy)
  return options
}

/** A folder of YAML, absolute and as the user knows it. */
export function meshFolder(cwd: string, folder: string): { readonly folder: string; readonly shownFolder: string } {
  const absolute = resolve(cwd, folder)
  if (!isFolder(absolute))
    throw cliError('OSM_CLI_FOLDER', `${folder} is no folder`, 'name the folder that holds the YAML files of the mesh')
  const nearer = relative(cwd, absolute)
  return { folder: absolute, shownFolder: nearer === '' || nearer.startsWith('..') ? absolute : nearer }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
