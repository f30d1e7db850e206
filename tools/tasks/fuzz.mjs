import { join } from 'node:path'
import { bundleModule } from '../lib/bundle.mjs'
import { instrumented } from '../lib/instrument.mjs'
import { root } from '../lib/paths.mjs'
import { runAttached } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'

const bundle = join(root, 'fuzz/dist/fuzz.mjs')

/**
 * Bundles the fuzz targets with counters of coverage and runs them.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  await timed('Bundling the fuzz targets', () => bundleModule('fuzz/fuzz-main.ts', bundle, [instrumented]))
  return runAttached(process.execPath, [bundle, ...args], { env })
}
