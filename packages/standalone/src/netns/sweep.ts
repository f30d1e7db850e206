import { isOwnerRunning } from './owner.js'
import { findTraces, removeTraces } from './traces.js'

/**
 * Removes mesh networks whose process has ended without destroying them, and ends what still runs in them.
 *
 * Processes are looked up in this process's own /proc: it is not meant for a container that shares the network of its host.
 *
 * @returns the network namespaces that were removed
 */
export async function sweepMeshNetworks(): Promise<readonly string[]> {
  const traces = (await findTraces()).filter((trace) => !isOwnerRunning(trace.owner))
  await removeTraces(traces)
  return traces.flatMap((trace) => (trace.kind === 'namespace' ? [trace.name] : [])).sort()
}
