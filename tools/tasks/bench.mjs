import { bundlePrograms } from '../lib/bundle.mjs'
import { runAttached } from '../lib/process.mjs'

/**
 * Bundles the benchmarks and runs them. The garbage collector is exposed because they measure memory.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  const [bench = ''] = await bundlePrograms([
    'bench',
    'bench-clients',
    'bench-injection-api',
    'bench-injection-floor',
    'bench-injection-load',
    'bench-sidecar-latency-load',
    'controller',
    'osm-injector',
  ])
  return runAttached(process.execPath, ['--expose-gc', bench, ...args], { env })
}
