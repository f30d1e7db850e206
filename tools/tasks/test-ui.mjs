import { bundlePrograms } from '../lib/bundle.mjs'
import { reportCounts } from '../lib/counts.mjs'
import { runJest } from '../lib/jest.mjs'
import { runAttached } from '../lib/process.mjs'
import { say } from '../lib/progress.mjs'
import { ensureChromium } from '../setup/chromium.mjs'

/**
 * Shows the page of `osm dashboard` in a real browser, on the running bookstore; arguments go to jest.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  const chromium = await ensureChromium()
  if (chromium === undefined) {
    say('the dashboard was not tested: there is no browser')
    reportCounts('ui', { passed: 0, failed: 0, skipped: 1 })
    return 0
  }
  await bundlePrograms(['osm', 'controller'])
  const counts = await runJest('ui', args, (program, jestArgs, jestEnv) =>
    runAttached(program, jestArgs, {
      env: { ...process.env, ...env, CHROMIUM_BIN: chromium, ...jestEnv },
      stdoutToStderr: true,
    }),
  )
  reportCounts('ui', counts)
  return counts.failed === 0 ? 0 : 1
}
