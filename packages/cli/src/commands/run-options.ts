import { statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

import { Option, type Command } from 'commander'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'
import { checkEnvoyVersion, checkPipyVersion, findController, findEnvoy, findPipy } from '../find-programs.js'
import type { RunMeshOptions } from '../live/run-mesh.js'
import { STATE_FOLDER } from '../state/find-mesh.js'

/** Options of all commands that run a mesh. */
export interface RunFlags {
  readonly transparent?: boolean
  readonly state?: string
  readonly class?: string
  readonly envoy?: string
  readonly pipy?: string
}

/** Looks up the executable of a class, and whether it is one that the class runs on. */
interface SidecarProgram {
  readonly variable: string
  readonly find: (context: CliContext, named: string | undefined) => string
  readonly check: (path: string) => Promise<void>
}

const defaultClass = 'envoy'
const classVariable = 'OSM_DEFAULT_SIDECAR_CLASS'
const sidecarPrograms = {
  envoy: { variable: 'ENVOY_BIN', find: findEnvoy, check: checkEnvoyVersion },
  pipy: { variable: 'PIPY_BIN', find: findPipy, check: checkPipyVersion },
} as const satisfies Readonly<Record<string, SidecarProgram>>

/** Adds the options that say what runs as sidecar. */
export function addSidecarOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--class <name>', 'the sidecar class, where the MeshConfig of the folder names none')
        .choices(Object.keys(sidecarPrograms))
        .default(undefined, `$${classVariable}, else ${defaultClass}`),
    )
    .option('--envoy <path>', 'the Envoy to run (default: $ENVOY_BIN, else envoy on the PATH)')
    .option('--pipy <path>', 'the Pipy to run (default: $PIPY_BIN, else pipy on the PATH)')
}

/** What those options stand for. */
export async function runOptions(
  context: CliContext,
  folder: string,
  flags: RunFlags,
): Promise<Omit<RunMeshOptions, 'startMesh' | 'onEvent' | 'now'>> {
  return {
    ...meshFolder(context.cwd, folder),
    stateFolder: resolve(context.cwd, flags.state ?? join('.', STATE_FOLDER)),
    mode: flags.transparent === true ? 'transparent' : 'explicit',
    sidecarBinaries: await sidecarBinaries(context, flags),
    controllerProgram: findController(context.programFolder),
    variables: flags.class === undefined ? context.variables : { ...context.variables, [classVariable]: flags.class },
  }
}

/** The executable of the chosen class, and of others that somebody has named: workloads may choose those. */
async function sidecarBinaries(context: CliContext, flags: RunFlags): Promise<Readonly<Record<string, string>>> {
  const chosen = flags.class ?? context.variables[classVariable] ?? defaultClass
  const found: Record<string, string> = {}
  for (const [name, program] of Object.entries(sidecarPrograms)) {
    const named = name === 'pipy' ? flags.pipy : flags.envoy
    if (name !== chosen && (named ?? context.variables[program.variable] ?? '') === '') continue
    found[name] = program.find(context, named)
    await program.check(found[name])
  }
  return found
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
