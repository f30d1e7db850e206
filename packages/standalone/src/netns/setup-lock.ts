import { OsmError } from '@osm-ts/driver-api'
import type { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { trySocketLock } from '../process/socket-lock.js'
import type { NetnsErrorCode } from '../errors.js'

/** An abstract socket: its name belongs to one network namespace, as routes do, and the kernel frees it when its process ends. */
const lockName = '\0osm-ts.mesh-network-setup'
const retryMs = 20
const longestWaitMs = 60_000

/**
 * Runs `work` while no other process sets up a mesh network in this network namespace.
 *
 * The kernel gives the same address to two interfaces without an error. Checking for free ranges and taking one is therefore one step.
 *
 * @throws OsmError OSM_NETNS_BUSY when the lock is not free within a minute; what `work` throws
 */
export async function withSetupLock<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const lock = await acquireLock(signal)
  try {
    return await work()
  } finally {
    lock.close()
  }
}

async function acquireLock(signal: AbortSignal): Promise<Server> {
  const deadline = performance.now() + longestWaitMs
  for (;;) {
    signal.throwIfAborted()
    const lock = await trySocketLock(lockName)
    if (lock !== undefined) return lock
    if (performance.now() > deadline)
      throw new OsmError<NetnsErrorCode>(
        'OSM_NETNS_BUSY',
        `another process has been setting up a mesh network for ${String(longestWaitMs / 1000)} s; ` +
          'find it with: grep osm-ts.mesh-network-setup /proc/net/unix',
      )
    await sleep(retryMs, undefined, { signal })
  }
}
