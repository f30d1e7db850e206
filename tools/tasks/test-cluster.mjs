import { bundlePrograms } from '../lib/bundle.mjs'
import { reportCounts } from '../lib/counts.mjs'
import { runJest } from '../lib/jest.mjs'
import { runAttached } from '../lib/process.mjs'
import { say } from '../lib/progress.mjs'

/**
 * Runs the tests that take a real cluster; arguments go to jest. A machine that can't have one runs none of them, and says what would
 * change that.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  // A cluster from elsewhere needs nothing of this machine.
  if (env.OSM_CLUSTER_TIER_OBSTACLE && !process.env.OSM_CLUSTER_OPTIONS?.includes('--provider')) {
    say(`no cluster tests were run: a local cluster is not possible here: ${env.OSM_CLUSTER_TIER_OBSTACLE}`)
    reportCounts('cluster', { passed: 0, failed: 0, skipped: 1 })
    return 0
  }
  // Tests start it as users do.
  await bundlePrograms(['osm'])
  const counts = await runJest('cluster', args, (program, jestArgs, jestEnv) =>
    runAttached(program, jestArgs, { env: { ...env, ...jestEnv }, stdoutToStderr: true }),
  )
  reportCounts('cluster', counts)
  return counts.failed === 0 ? 0 : 1
}
