import { setTimeout as pause } from 'node:timers/promises'

import { isOsmError, OsmError } from '@osm-ts/driver-api'

import { machineProcesses } from '../process/process-identity.js'
import { sendSignal } from '../process/child.js'
import { sweepProcesses } from '../process/sweep.js'
import { lockFolder } from '../process/socket-lock.js'
import { ControlPlaneClient } from './control-plane-client.js'
import type { JoinErrorCode } from './errors.js'
import { MachineState } from './machine-state.js'
import { sweepTraces } from './transparent/machine-traces.js'

/** How a machine leaves. */
export interface LeaveMachineOptions {
  readonly stateFolder: string
  /** True: removes everything here even if the control plane cannot be told. It misses the machine before long. */
  readonly force: boolean
  readonly signal: AbortSignal
}

const ENDED_WITHIN_MS = 60_000
const LOOK_MS = 50

/**
 * Ends the sidecar, has the control plane forget the machine, and removes the state folder with the key.
 *
 * @throws OsmError with a code of `OSM_JOIN_*`, or of the control plane
 */
export async function leaveMachine({ stateFolder, force, signal }: LeaveMachineOptions): Promise<void> {
  if (!MachineState.exists(stateFolder))
    throw new OsmError<JoinErrorCode>(
      'OSM_JOIN_STATE',
      `${stateFolder} is not the state folder of a machine that has joined`,
    )
  const state = new MachineState(stateFolder)
  const unlock = await endJoin(state, signal)
  try {
    await sweepProcesses(state.processes, state.folder)
    await sweepTraces(state)
    const membership = state.membership()
    const credential = state.credential()
    if (membership !== undefined && credential !== undefined) {
      const client = new ControlPlaneClient(new URL(membership.controlPlane))
      await client.leave(credential, signal).catch((error: unknown) => {
        // Forgotten there already.
        if (isOsmError(error) && error.code === 'OSM_MACHINE_UNKNOWN') return
        if (!force) throw error
      })
    }
    state.remove()
  } finally {
    await unlock()
  }
}

/** Ends the process that keeps the sidecar running, and takes its place. */
async function endJoin(state: MachineState, signal: AbortSignal): Promise<() => Promise<void>> {
  const deadline = performance.now() + ENDED_WITHIN_MS
  let asked = false
  for (;;) {
    signal.throwIfAborted()
    try {
      return await lockFolder(state.folder)
    } catch (error) {
      if (!isOsmError(error) || error.code !== 'OSM_STANDALONE_RUNNING' || performance.now() > deadline) throw error
    }
    const { pid } = state
    if (!asked && pid !== undefined && machineProcesses.find(pid) !== undefined) {
      sendSignal(pid, 'SIGTERM')
      asked = true
    }
    await pause(LOOK_MS, undefined, { signal }).catch(() => undefined)
  }
}
