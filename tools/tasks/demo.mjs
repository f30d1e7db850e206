import { parseArgs } from 'node:util'

import { bundlePrograms } from '../lib/bundle.mjs'
import { runAttached } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { ensureEnvoy } from '../setup/envoy-binary.mjs'
import { ensureTransparentMode } from '../setup/transparent-mode.mjs'

/**
 * Bundles what the demo runs and hands over to `osm demo` with all arguments. Progress goes to standard error, so that with --json the last line of
 * standard output is the result.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  if (args.includes('--transparent') && !(await ensureTransparentMode())) return 1
  const sidecars = wantsEnvoy(args) ? { ENVOY_BIN: await ensureEnvoy() } : {}
  // An endpoints provider runs in a process of its own.
  const programs = ['osm', 'controller', ...(args.includes('--machines') ? ['osm-driver-host'] : [])]
  const [osm = ''] = await timed('Building osm and the controller', () => bundlePrograms(programs))
  return runAttached(process.execPath, [osm, 'demo', ...args], { env: { ...env, ...sidecars } })
}

/**
 * Whether the demo is one of class envoy, as it is where nothing else is said.
 * @param {readonly string[]} args
 */
function wantsEnvoy(args) {
  const { values } = parseArgs({ args: [...args], options: { class: { type: 'string' } }, strict: false })
  return (values.class ?? process.env.OSM_DEFAULT_SIDECAR_CLASS ?? 'envoy') === 'envoy'
}
