import { ensureCertManager } from '../setup/cert-manager.mjs'
import { buildClusterPrograms } from '../setup/cluster-programs.mjs'
import { ensureSpire } from '../setup/spire.mjs'
import { ensureGatewayApiSuite } from '../setup/gateway-api.mjs'

/**
 * Builds the programs of a local cluster, so that whatever needs one does not have to. With OSM_BUILD_CERT_MANAGER=1 it builds cert-manager too, with
 * OSM_BUILD_GATEWAY_API=1 the conformance suite of the Gateway API, and with OSM_BUILD_SPIRE=1 agent and server of SPIRE. The time of a run on a new machine has no room for them.
 * @type {import('../run-task.mjs').Task}
 */
export async function task() {
  const { kubernetes, coredns, pause } = await buildClusterPrograms()
  if (process.env.OSM_BUILD_CERT_MANAGER === '1') process.stdout.write(`${await ensureCertManager()}\n`)
  if (process.env.OSM_BUILD_GATEWAY_API === '1') process.stdout.write(`${await ensureGatewayApiSuite()}\n`)
  if (process.env.OSM_BUILD_SPIRE === '1') process.stdout.write(`${await ensureSpire()}\n`)
  process.stdout.write(`${kubernetes}\n${coredns}\n${pause}\n`)
  return 0
}
