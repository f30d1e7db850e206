import { bundlePrograms } from '../lib/bundle.mjs'
import { reportCounts } from '../lib/counts.mjs'
import { runJest } from '../lib/jest.mjs'
import { runAttached } from '../lib/process.mjs'
import { say } from '../lib/progress.mjs'
import { ensureTrafficPrograms } from '../setup/traffic-programs.mjs'

/**
 * Runs real clients against real servers, through a mesh of Envoys and beside it; arguments go to jest.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  if (env.OSM_TEST_MODES === 'explicit') {
    say('the traffic corpus was not run: programs that know nothing of a mesh take network namespaces, and root')
    reportCounts('traffic', { passed: 0, failed: 0, skipped: 1 })
    return 0
  }
  const programs = JSON.stringify(await ensureTrafficPrograms())
  await bundlePrograms(['controller'])
  const counts = await runJest('traffic', args, (program, jestArgs, jestEnv) =>
    runAttached(program, jestArgs, {
      env: { ...process.env, ...env, OSM_TRAFFIC_PROGRAMS: programs, ...jestEnv },
      stdoutToStderr: true,
    }),
  )
  reportCounts('traffic', counts)
  return counts.failed === 0 ? 0 : 1
}
