import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

import { isRecord } from '@osm-ts/driver-api/toolkit'

import { cliError } from '../errors.js'

/** Name of the folder in which a mesh keeps its state, unless told otherwise. */
export const STATE_FOLDER = '.osm-standalone'

/** A mesh that runs on this machine, as it wrote itself down. */
export interface FoundMesh {
  readonly stateFolder: string
  /** The folder of the mesh specification. */
  readonly folder: string
  readonly mode: 'explicit' | 'transparent'
  /** Loopback URL of the debug server. */
  readonly controllerUrl: string
  /** Where machines join; absent if none can. */
  readonly machinesUrl?: string
}

/** Where to look, and how to tell whether a mesh is still there. */
export interface FindMeshOptions {
  /** The state folder, if the user named it. */
  readonly state: string | undefined
  readonly cwd: string
  readonly isAlive: (pid: number) => boolean
}

/**
 * Finds the mesh that commands speak of: in the folder that was named, else in `.osm-standalone` of the working directory or of the nearest
 * directory above it.
 *
 * @throws OsmError when there is none, or it has ended
 */
export function findMesh({ state, cwd, isAlive }: FindMeshOptions): FoundMesh {
  const stateFolder = state === undefined ? nearestState(cwd) : resolve(cwd, state)
  if (stateFolder === undefined)
    throw cliError(
      'OSM_CLI_MESH_MISSING',
      `no running mesh: neither ${cwd} nor a directory above it has ${STATE_FOLDER}/mesh.json`,
      'start one with osm standalone run <folder>, set its state folder with --state, or select a cluster with --kubeconfig',
    )
  const file = join(stateFolder, 'mesh.json')
  const { pid, ...found } = readMeshFile(file)
  if (!isAlive(pid))
    throw cliError(
      'OSM_CLI_MESH_MISSING',
      `the mesh in ${file}, process ${pid}, has ended`,
      'start it again with osm standalone run <folder>',
    )
  return { stateFolder, ...found }
}

/** State folder of a mesh in a directory, or in the nearest one above it. */
export function nearestState(start: string): string | undefined {
  for (let folder = resolve(start); ; folder = dirname(folder)) {
    const candidate = join(folder, STATE_FOLDER)
    if (existsSync(join(candidate, 'mesh.json'))) return candidate
    if (dirname(folder) === folder) return undefined
  }
}

function readMeshFile(file: string): Omit<FoundMesh, 'stateFolder'> & { readonly pid: number } {
  const read = parseMeshFile(readIfThere(file))
  if (read !== undefined) return read
  throw cliError(
    'OSM_CLI_MESH_MISSING',
    `${file} does not exist or is not a valid mesh.json`,
    'set the state folder of a running mesh with --state, or start one with osm standalone run <folder>',
  )
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // Whatever the reason, the user hears that there is no usable file.
    return ''
  }
}

function parseMeshFile(text: string): ReturnType<typeof readMeshFile> | undefined {
  const value = parseOrUndefined(text)
  if (!isRecord(value)) return undefined
  const { pid, folder, mode, controllerUrl, machinesUrl } = value
  const usable =
    typeof pid === 'number' &&
    typeof folder === 'string' &&
    typeof controllerUrl === 'string' &&
    (mode === 'explicit' || mode === 'transparent')
  if (!usable) return undefined
  return { pid, folder, mode, controllerUrl, ...(typeof machinesUrl === 'string' && { machinesUrl }) }
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** True if there is a process of that id, of any user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
