import { bundlePrograms } from '../lib/bundle.mjs'
import { reportCounts } from '../lib/counts.mjs'
import { runJest } from '../lib/jest.mjs'
import { runAttached } from '../lib/process.mjs'
import { say, timed } from '../lib/progress.mjs'

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
  // The tests start the programs as pods do.
  await timed('Bundling the programs', () => bundlePrograms())
  const counts = await runJest('api', args, (program, jestArgs, jestEnv) =>
    runAttached(program, jestArgs, { env: { ...env, ...jestEnv }, stdoutToStderr: true }),
  )
  reportCounts('api', counts)
  return counts.failed === 0 ? 0 : 1
}
