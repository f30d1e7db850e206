import type { Server } from 'node:net'

import { trySocketLock } from '../../process/socket-lock.js'
import { removeSidecarRunDirectory } from '../../transparent/sidecar-run-directory.js'
import type { MachineState } from '../machine-state.js'
import { HostsFile } from './hosts-file.js'
import { removeRules } from './machine-rules.js'

/** The hosts file of the machine. */
export const HOSTS = '/etc/hosts'
/** Names of abstract sockets belong to a network, as rules do. */
const LOCK = '\0osm-machine-interception'

/** Takes the rules of this network: no two machines have theirs in one. Undefined while another one has them. */
export function lockNetwork(): Promise<Server | undefined> {
  return trySocketLock(LOCK)
}

export function unlockNetwork(lock: Server): Promise<void> {
  return new Promise((resolve) => lock.close(() => resolve()))
}

/**
 * Removes what a machine has changed outside of its state folder. The lock of the network is held.
 *
 * @throws OsmError with code `OSM_NETNS_COMMAND` if rules cannot be removed: the traces stay noted then
 */
export async function removeTraces(state: MachineState): Promise<void> {
  new HostsFile(HOSTS).restore()
  await removeRules()
  removeSidecarRunDirectory(state.folder)
  state.traces = undefined
}

/** Removes what a run that was killed has left. */
export async function sweepTraces(state: MachineState): Promise<void> {
  if (state.traces === undefined) return
  const lock = await lockNetwork()
  if (lock === undefined) {
    // Another machine has put its own rules and names in place of these.
    removeSidecarRunDirectory(state.folder)
    state.traces = undefined
    return
  }
  try {
    await removeTraces(state)
  } finally {
    await unlockNetwork(lock)
  }
}
