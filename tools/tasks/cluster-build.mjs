import { buildClusterPrograms } from '../setup/cluster-programs.mjs'

/**
 * Builds the programs of a local cluster, so that whatever needs one does not have to.
 * @type {import('../run-task.mjs').Task}
 */
export async function task() {
  const { kubernetes, coredns, pause } = await buildClusterPrograms()
  process.stdout.write(`${kubernetes}\n${coredns}\n${pause}\n`)
  return 0
}
