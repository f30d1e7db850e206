import { bundlePrograms } from '../lib/bundle.mjs'
import { runAttached } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { ensureTransparentMode } from '../setup/transparent-mode.mjs'

/**
 * Bundles what the demo runs and hands over to `osm demo` with all arguments. Progress goes to standard error, so that with --json the last line of
 * standard output is the result.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  if (args.includes('--transparent') && !(await ensureTransparentMode())) return 1
  const [osm = ''] = await timed('Building osm and the controller', () => bundlePrograms(['osm', 'controller']))
  return runAttached(process.execPath, [osm, 'demo', ...args], { env })
}
