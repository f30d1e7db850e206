import { mkdirSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'

import { OsmError } from '@osm-ts/driver-api'

import { builtInDrivers } from './builtins.js'
import type { StandaloneErrorCode } from './errors.js'
import { Mesh } from './mesh.js'
import { sweepMeshNetworks } from './netns/traces.js'
import { explicitPlacement, type Placement } from './placement.js'
import { isPortFreeAt } from './ports/is-port-free.js'
import { PortAllocator } from './ports/port-allocator.js'
import { listenerPortRange } from './ports/port-range.js'
import { machineProcesses } from './process/process-identity.js'
import { ProcessRegistry } from './process/process-registry.js'
import { sweepProcesses } from './process/sweep.js'
import { lockFolder } from './process/socket-lock.js'
import { prepareRun, statePaths, type StatePaths } from './state/state-folder.js'
import { hasSidecarsHome, removeSidecarRunDirectory } from './transparent/sidecar-run-directory.js'
import { transparentPlacement } from './transparent/transparent-placement.js'
import type { MeshOptions, RunningMesh } from './types.js'

const LOOPBACK = '127.0.0.1'

/**
 * Runs the mesh that a folder of YAML describes: a controller, and for each replica of each workload a sidecar and its program.
 *
 * Resolves as soon as the controller runs; {@link RunningMesh.ready} tells when everything does. What users can mend is a problem, told by events,
 * and the rest of the mesh continues.
 *
 * @throws OsmError if there can be no mesh at all: the folder can't be read, or another mesh uses the state folder
 */
export async function startMesh(options: MeshOptions): Promise<RunningMesh> {
  options.signal.throwIfAborted()
  const folder = resolve(options.stateFolder)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const paths = statePaths(realpathSync(folder))
  const unlock = await lockFolder(paths.folder)
  try {
    await sweep(paths)
    prepareRun(paths)
    const ports = new PortAllocator({
      file: paths.ports,
      range: listenerPortRange(),
      isFree: isPortFreeAt([...new Set([LOOPBACK, options.machineAddress ?? LOOPBACK])]),
      seed: paths.folder,
    })
    const processes = new ProcessRegistry(paths.processes, machineProcesses)
    const placement = await openPlacement(options, { paths, ports, processes })
    const mesh = new Mesh({ options, paths, ports, processes, placement, drivers: builtInDrivers() })
    return await run(mesh, options.signal, unlock)
  } catch (error) {
    await unlock()
    throw error
  }
}

/** Removes what a run that was killed has left. Its mode need not be that of this one. */
async function sweep(paths: StatePaths): Promise<void> {
  await sweepProcesses(paths.processes, paths.folder)
  if (!hasSidecarsHome(paths.folder)) return
  await sweepMeshNetworks()
  removeSidecarRunDirectory(paths.folder)
}

interface Registries {
  readonly paths: StatePaths
  readonly ports: PortAllocator
  readonly processes: ProcessRegistry
}

async function openPlacement(options: MeshOptions, { paths, ports, processes }: Registries): Promise<Placement> {
  switch (options.mode) {
    case 'explicit':
      return explicitPlacement(ports, paths, options.machineAddress)
    case 'transparent':
      if (options.machineAddress !== undefined)
        throw new OsmError<StandaloneErrorCode>(
          'OSM_STANDALONE_MACHINES',
          'machines cannot join a mesh in transparent mode, whose workloads have networks of their own; run it in explicit mode',
        )
      return transparentPlacement(
        { paths, processes, interpreter: process.execPath, environment: options.environment },
        options.signal,
      )
  }
}

/** A mesh that can't be started leaves nothing behind, and neither does one that is stopped. */
async function run(mesh: Mesh, signal: AbortSignal, unlock: () => Promise<void>): Promise<RunningMesh> {
  let stopping: Promise<void> | undefined
  const stopOnce = async (): Promise<void> => {
    try {
      await mesh.stop()
    } finally {
      await unlock()
    }
  }
  const stop = (): Promise<void> => (stopping ??= stopOnce())
  // Anyone who waits for the end calls stop too and learns what went wrong.
  const abort = (): void => void stop().catch(() => undefined)
  signal.addEventListener('abort', abort, { once: true })
  try {
    await mesh.start()
    signal.throwIfAborted()
  } catch (error) {
    await stop()
    throw error
  }
  const { stateFolder, controllerUrl, controllerPid, machinesUrl, instances, ready } = mesh
  return { stateFolder, controllerUrl, controllerPid, machinesUrl, instances, ready, stop }
}
