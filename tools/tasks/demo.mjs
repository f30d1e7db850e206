import { bundlePrograms } from '../lib/bundle.mjs'
import { runAttached } from '../lib/process.mjs'

/**
 * Bundles what the demo runs and hands over to `osm demo`.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  const [osm = ''] = await bundlePrograms(['osm', 'controller'])
  return runAttached(process.execPath, [osm, 'demo', ...args], { env })
}
