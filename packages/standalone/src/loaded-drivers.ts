import { writeSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { createLogger, type DriverRegistry } from '@osm-ts/core'
import { hostDrivers } from '@osm-ts/driver-process'

import type { ProblemSet } from './problem-set.js'
import { LogFile } from './process/log-file.js'
import type { StatePaths } from './state/state-folder.js'
import type { MeshOptions } from './types.js'

/** What loading drivers of a mesh needs. */
export interface LoadedDriversOptions {
  readonly mesh: Pick<MeshOptions, 'driverPackages' | 'controllerProgram' | 'environment'>
  readonly registry: DriverRegistry
  readonly problems: ProblemSet
  readonly paths: StatePaths
  /** Ends the drivers and their processes. */
  readonly signal: AbortSignal
}

/**
 * Loads the drivers that a mesh has beside those that are built in. In this process they say what has to be beside a workload; that of the controller loads them
 * again for the proxy control plane. What they say of themselves goes to `drivers.log`, and why one is refused is a problem of the mesh.
 *
 * @returns what resolves when the signal has aborted and nothing of them is left
 */
export async function loadMeshDrivers(options: LoadedDriversOptions): Promise<{ readonly stopped: Promise<void> }> {
  const { registry, problems, paths, signal } = options
  const { driverPackages: entries = [], controllerProgram, environment } = options.mesh
  if (entries.length === 0) return { stopped: Promise.resolve() }
  const file = new LogFile(join(paths.logs, 'drivers.log'))
  const write = (line: string): void => {
    writeSync(file.fd, line)
    file.trim()
  }
  const leave = registry.subscribe(() => {
    const refused = registry.refusals().filter(({ code }) => code !== 'OSM_DRIVER_UNAVAILABLE')
    problems.set(
      'drivers',
      refused.map(({ name, code, message }) => ({
        code,
        severity: 'error',
        message: `the driver of class ${name} is refused: ${message}`,
      })),
    )
  })
  const { stopped } = await hostDrivers({
    entries,
    sink: registry,
    programFolder: dirname(controllerProgram),
    environment,
    logger: createLogger('osm-drivers', 'info', { write }),
    signal,
  })
  return {
    stopped: stopped.finally(() => {
      leave()
      file.close()
    }),
  }
}
