import { mkdirSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'

import { builtInDrivers } from './builtins.js'
import { Mesh } from './mesh.js'
import { sweepMeshNetworks } from './netns/index.js'
import { explicitPlacement, type Placement } from './placement.js'
import { isPortFree } from './ports/is-port-free.js'
import { PortLedger } from './ports/port-ledger.js'
import { listenerPortRange } from './ports/port-range.js'
import { machineProcesses } from './process/process-identity.js'
import { ProcessLedger } from './process/process-ledger.js'
import { sweepProcesses } from './process/sweep.js'
import { lockFolder } from './state/folder-lock.js'
import { prepareRun, statePaths, type StatePaths } from './state/state-folder.js'
import { hasSidecarsHome, removeSidecarsHome } from './transparent/home.js'
import { transparentPlacement } from './transparent/transparent-placement.js'
import type { MeshOptions, RunningMesh } from './types.js'

/**
 * Runs the mesh that a folder of YAML describes: a controller, and for each replica of each workload a sidecar and its program.
 *
 * Resolves as soon as the controller runs; {@link RunningMesh.ready} tells when everything does. What users can mend is a problem, told by events,
 * and the rest of the mesh goes on.
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
    const ports = new PortLedger({
      file: paths.ports,
      range: listenerPortRange(),
      isFree: isPortFree,
      seed: paths.folder,
    })
    const ledger = new ProcessLedger(paths.processes, machineProcesses)
    const placement = await openPlacement(options, { paths, ports, ledger })
    const mesh = new Mesh({ options, paths, ports, ledger, placement, drivers: builtInDrivers() })
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
  removeSidecarsHome(paths.folder)
}

interface Books {
  readonly paths: StatePaths
  readonly ports: PortLedger
  readonly ledger: ProcessLedger
}

async function openPlacement(options: MeshOptions, { paths, ports, ledger }: Books): Promise<Placement> {
  switch (options.mode) {
    case 'explicit':
      return explicitPlacement(ports, paths)
    case 'transparent':
      return transparentPlacement(
        { paths, ledger, interpreter: process.execPath, environment: options.environment },
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
  // Whoever waits for the end calls stop too and learns what went wrong.
  const abort = (): void => void stop().catch(() => undefined)
  signal.addEventListener('abort', abort, { once: true })
  try {
    await mesh.start()
    signal.throwIfAborted()
  } catch (error) {
    await stop()
    throw error
  }
  const { stateFolder, controllerUrl, controllerPid, instances, ready } = mesh
  return { stateFolder, controllerUrl, controllerPid, instances, ready, stop }
}
