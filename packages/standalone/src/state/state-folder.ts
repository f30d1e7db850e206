import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { OsmError } from '@osm-ts/driver-api'

import type { StandaloneErrorCode } from '../errors.js'

/** Where everything of a mesh lies that runs on this machine. */
export interface StatePaths {
  readonly folder: string
  /** Roots of both authorities. Kept. */
  readonly ca: string
  /** WorkloadInstances, for the controller. Emptied with every start. */
  readonly instances: string
  /** One folder for each sidecar, and what the controller is started with. Emptied with every start. */
  readonly run: string
  /** Output of sidecars and controller of the last run. */
  readonly logs: string
  /** Ports given out, kept so that a workload finds its ports again. */
  readonly ports: string
  /** Virtual addresses given out. Kept. */
  readonly virtualAddresses: string
  /** Join tokens of machines, shared with the commands that make them. Kept. */
  readonly joinTokens: string
  /** Machines that have joined. Kept. */
  readonly machines: string
  /** Last answers of endpoints providers. Kept. */
  readonly endpoints: string
  /** Processes that run. */
  readonly processes: string
  /** Tells commands that a mesh runs, and where. */
  readonly meshFile: string
}

/** The paths inside a state folder. */
export function statePaths(folder: string): StatePaths {
  return {
    folder,
    ca: join(folder, 'ca'),
    instances: join(folder, 'instances'),
    run: join(folder, 'run'),
    logs: join(folder, 'logs'),
    ports: join(folder, 'ports.json'),
    virtualAddresses: join(folder, 'virtual-addresses.json'),
    joinTokens: join(folder, 'join-tokens'),
    machines: join(folder, 'machines'),
    endpoints: join(folder, 'endpoints.json'),
    processes: join(folder, 'processes.json'),
    meshFile: join(folder, 'mesh.json'),
  }
}

/** Removes what belongs to one run only, such as one that was killed. Its processes must have ended. */
export function clearRun(paths: StatePaths): void {
  for (const path of [paths.instances, paths.run, paths.meshFile]) rmSync(path, { recursive: true, force: true })
}

/** Makes the folders of a run. Keys of sidecars lie in there: no one else gets in. */
export function prepareRun(paths: StatePaths): void {
  clearRun(paths)
  rmSync(paths.logs, { recursive: true, force: true })
  for (const path of [paths.folder, paths.instances, paths.run, paths.logs])
    mkdirSync(path, { recursive: true, mode: 0o700 })
}

/**
 * Reads a JSON file that `accept` recognises; undefined if there is none.
 *
 * @throws OsmError OSM_STANDALONE_STATE
 */
export function readStateFile<T>(path: string, accept: (value: unknown) => value is T): T | undefined {
  if (!existsSync(path)) return undefined
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw unusable(path, cause)
  }
  if (accept(value)) return value
  throw unusable(path, undefined)
}

function unusable(path: string, cause: unknown): OsmError<StandaloneErrorCode> {
  return new OsmError('OSM_STANDALONE_STATE', `${path} has invalid content; remove it to start again`, {
    cause,
  })
}
