import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundlePrograms } from '../lib/bundle.mjs'
import { reportCounts } from '../lib/counts.mjs'
import { runJestForReport } from '../lib/jest.mjs'
import { root } from '../lib/paths.mjs'
import { runAttached } from '../lib/process.mjs'
import { say } from '../lib/progress.mjs'
import { testReport } from '../reports/test-report.mjs'
import { readSubject, subjectVariable, writeReports } from '../reports/report-files.mjs'
import { builtGatewayApiSuite } from '../setup/gateway-api.mjs'

const folder = join(root, '.cache/cluster-reports')

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
  const gatewayApi = builtGatewayApiSuite()
  if (gatewayApi === undefined)
    say(
      'the conformance suite of the Gateway API is left out: build it by OSM_BUILD_GATEWAY_API=1 node tools/bootstrap.mjs cluster-build',
    )
  // Tests start it as users do.
  await bundlePrograms(['osm', 'controller'])
  // What is there afterwards is of this run.
  rmSync(folder, { recursive: true, force: true })
  const subjectFile = join(folder, 'subject.json')
  const startedAt = new Date()
  const { report, exitCode } = await runJestForReport('cluster', args, (program, jestArgs, jestEnv) =>
    runAttached(program, jestArgs, {
      env: { ...env, ...jestEnv, [subjectVariable]: subjectFile, OSM_GATEWAY_API: gatewayApi ?? '' },
      stdoutToStderr: true,
    }),
  )
  const subject = readSubject(subjectFile)
  const result = testReport({ jest: report, exitCode, subject, startedAt, endedAt: new Date() })
  writeReports(folder, 'test:cluster', result)
  say(`reports: ${folder}`)
  reportCounts('cluster', result.counts)
  return result.counts.failed === 0 ? 0 : 1
}
