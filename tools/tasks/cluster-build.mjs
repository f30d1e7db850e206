import { ensureCertManager } from '../setup/cert-manager.mjs'
import { buildClusterPrograms } from '../setup/cluster-programs.mjs'

/**
 * Builds the programs of a local cluster, so that whatever needs one does not have to. With OSM_BUILD_CERT_MANAGER=1 it builds cert-manager too, for which the
 * time of a run on a new machine has no room.
 * @type {import('../run-task.mjs').Task}
 */
export async function task() {
  const { kubernetes, coredns, pause } = await buildClusterPrograms()
  if (process.env.OSM_BUILD_CERT_MANAGER === '1') process.stdout.write(`${await ensureCertManager()}\n`)
  process.stdout.write(`${kubernetes}\n${coredns}\n${pause}\n`)
  return 0
}
