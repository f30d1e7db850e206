import { bundlePrograms } from '../lib/bundle.mjs'
import { reportCounts } from '../lib/counts.mjs'
import { runJest } from '../lib/jest.mjs'
import { runAttached } from '../lib/process.mjs'
import { say, timed } from '../lib/progress.mjs'
import { builtGatewayApiSuite } from '../setup/gateway-api.mjs'

/**
 * Runs the tests that take a real API server; arguments go to jest. A machine that can't have one runs none of them, and says what
 * would change that.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  if (env.OSM_API_TIER_OBSTACLE) {
    say(`no API tests were run: ${env.OSM_API_TIER_OBSTACLE}`)
    reportCounts('api', { passed: 0, failed: 0, skipped: 1 })
    return 0
  }
  const gatewayApi = builtGatewayApiSuite()
  if (gatewayApi === undefined)
    say(
      'routes of the Gateway API on an API server are left out: build the suite with its definitions by OSM_BUILD_GATEWAY_API=1 node tools/bootstrap.mjs cluster-build',
    )
  // The tests start the programs as pods do.
  await timed('Bundling the programs', () => bundlePrograms())
  const counts = await runJest('api', args, (program, jestArgs, jestEnv) =>
    runAttached(program, jestArgs, {
      env: { ...env, ...jestEnv, OSM_GATEWAY_API: gatewayApi ?? '' },
      stdoutToStderr: true,
    }),
  )
  reportCounts('api', counts)
  return counts.failed === 0 ? 0 : 1
}
