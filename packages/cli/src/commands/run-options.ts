import { statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

import { Option, type Command } from 'commander'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'
import { checkEnvoyVersion, checkPipyVersion, findController, findEnvoy, findPipy } from '../find-programs.js'
import type { RunMeshOptions } from '../live/run-mesh.js'
import { STATE_FOLDER } from '../state/find-mesh.js'

/** Options that say what runs as sidecar. */
export interface SidecarFlags {
  readonly class?: string
  readonly envoy?: string
  readonly pipy?: string
}

/** Options of all commands that run a mesh. */
export interface RunFlags extends SidecarFlags {
  readonly transparent?: boolean
  readonly state?: string
  readonly driverPackages?: string
  readonly endpointsProviders?: string
  readonly sidecar?: readonly string[]
}

/** Looks up the executable of a class, and whether it is one that the class runs on. */
interface SidecarProgram {
  readonly variable: string
  readonly find: (context: CliContext, named: string | undefined) => string
  readonly check: (path: string) => Promise<void>
}

const defaultClass = 'envoy'
const classVariable = 'OSM_DEFAULT_SIDECAR_CLASS'
/** The programs of sidecars that come with drivers of this program. */
export const sidecarPrograms = {
  envoy: { variable: 'ENVOY_BIN', find: findEnvoy, check: checkEnvoyVersion },
  pipy: { variable: 'PIPY_BIN', find: findPipy, check: checkPipyVersion },
} as const satisfies Readonly<Record<string, SidecarProgram>>

/** Adds the options that say what runs as sidecar. */
export function addSidecarOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--class <name>', 'sidecar class, unless the MeshConfig of the folder sets one').default(
        undefined,
        `$${classVariable}, else ${defaultClass}`,
      ),
    )
    .option('--envoy <path>', 'Envoy executable (default: $ENVOY_BIN, else envoy on the PATH)')
    .option('--pipy <path>', 'Pipy executable (default: $PIPY_BIN, else pipy on the PATH)')
    .option(
      '--driver-packages <list>',
      'drivers in addition to envoy and pipy: a JSON list, or a file with one (default: $OSM_DRIVER_PACKAGES)',
    )
    .option(
      '--endpoints-providers <list>',
      'endpoints providers to run: a JSON list, or a file with one (default: $OSM_ENDPOINTS_PROVIDERS)',
    )
    .option('--sidecar <class=path...>', 'sidecar executable of a class from --driver-packages (default: $<CLASS>_BIN)')
}

/** What those options stand for. */
export async function runOptions(
  context: CliContext,
  folder: string,
  flags: RunFlags,
): Promise<Omit<RunMeshOptions, 'startMesh' | 'onEvent' | 'now'>> {
  const { listedDrivers, listedProviders } = await import('@osm-ts/driver-process')
  const driverPackages = await listedDrivers(flags.driverPackages ?? '', context.variables)
  return {
    ...meshFolder(context.cwd, folder),
    stateFolder: resolve(context.cwd, flags.state ?? join('.', STATE_FOLDER)),
    mode: flags.transparent === true ? 'transparent' : 'explicit',
    sidecarBinaries: {
      ...(await sidecarBinaries(context, flags, driverPackages)),
      ...loadedBinaries(context, flags, driverPackages),
    },
    driverPackages,
    endpointsProviders: await listedProviders(flags.endpointsProviders ?? '', context.variables),
    controllerProgram: findController(context.programFolder),
    variables: flags.class === undefined ? context.variables : { ...context.variables, [classVariable]: flags.class },
  }
}

/** A driver of the list, as far as it matters here. */
interface Listed {
  readonly name: string
}

/** The executable of the chosen class, and of others that somebody has named: workloads may choose those. */
async function sidecarBinaries(
  context: CliContext,
  flags: RunFlags,
  listed: readonly Listed[],
): Promise<Readonly<Record<string, string>>> {
  const chosen = flags.class ?? context.variables[classVariable] ?? defaultClass
  const known = [...Object.keys(sidecarPrograms), ...listed.map(({ name }) => name)]
  if (flags.class !== undefined && !known.includes(flags.class))
    throw cliError(
      'OSM_CLI_USAGE',
      `--class ${flags.class} is not a known sidecar class; known are ${known.join(', ')}`,
      'add the driver of another class with --driver-packages',
    )
  const found = new Map<string, string>()
  for (const [name, program] of Object.entries(sidecarPrograms)) {
    const named = name === 'pipy' ? flags.pipy : flags.envoy
    if (name !== chosen && (named ?? context.variables[program.variable] ?? '') === '') continue
    const path = program.find(context, named)
    found.set(name, path)
    await program.check(path)
  }
  return Object.fromEntries(found)
}

/** Executables of classes that are not built in, by option or variable. A class without one is reported when a workload selects it. */
export function loadedBinaries(
  { cwd, variables }: CliContext,
  { sidecar = [] }: Pick<RunFlags, 'sidecar'>,
  listed: readonly Listed[],
): Readonly<Record<string, string>> {
  const names = listed.map(({ name }) => name)
  const found = new Map<string, string>()
  for (const name of names) {
    const path = variables[`${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_BIN`] ?? ''
    if (path !== '') found.set(name, resolve(cwd, path))
  }
  for (const given of sidecar) {
    const [name = '', path = ''] = given.split(/=(.*)/s)
    if (!names.includes(name) || path === '')
      throw cliError(
        'OSM_CLI_USAGE',
        `--sidecar ${given} must be <class>=<path>, the class one of --driver-packages: ${names.join(', ') || 'none'}`,
        'use --envoy and --pipy for Envoy and Pipy',
      )
    found.set(name, resolve(cwd, path))
  }
  return Object.fromEntries(found)
}

/** A folder of YAML, absolute and as the user knows it. */
export function meshFolder(cwd: string, folder: string): { readonly folder: string; readonly shownFolder: string } {
  const absolute = resolve(cwd, folder)
  if (!isFolder(absolute))
    throw cliError('OSM_CLI_FOLDER', `${folder} is not a folder`, 'give the folder with the YAML files of the mesh')
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
