import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { bundlePrograms } from '../lib/bundle.mjs'
import { reportCounts } from '../lib/counts.mjs'
import { runJest } from '../lib/jest.mjs'
import { runAttached } from '../lib/process.mjs'
import { say } from '../lib/progress.mjs'
import { ensureEnvoy } from '../setup/envoy-binary.mjs'
import { ensureHaproxy } from '../setup/haproxy.mjs'
import { ensureKubernetes } from '../setup/kubernetes.mjs'
import { ensureOtelCollector } from '../setup/otel-collector.mjs'
import { ensureTrafficPrograms } from '../setup/traffic-programs.mjs'
import { ensureTransparentMode } from '../setup/transparent-mode.mjs'

/**
 * Runs the tests that take a real Pipy, the executable that PIPY_BIN names; arguments go to jest. Pipy is in no registry, so that a machine without one
 * runs none of them and says so.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  const obstacle = obstacleOf(process.env.PIPY_BIN)
  if (obstacle !== undefined) {
    say(`no tests of class pipy were run: ${obstacle}`)
    reportCounts('pipy', { passed: 0, failed: 0, skipped: 1 })
    return 0
  }
  // Sidecars of all classes meet.
  const sidecars = { ENVOY_BIN: await ensureEnvoy(), HAPROXY_BIN: await ensureHaproxy() }
  const isTransparent = await ensureTransparentMode()
  const modes = { OSM_TEST_MODES: isTransparent ? 'explicit,transparent' : 'explicit' }
  // The traffic corpus takes network namespaces, as its programs know nothing of a mesh.
  const traffic = isTransparent ? { OSM_TRAFFIC_PROGRAMS: JSON.stringify(await ensureTrafficPrograms()) } : {}
  // Where there can be no API server, set-up says so, and the tests that take one are left out.
  const kubernetes = await ensureKubernetes()
  const collector = { OSM_OTEL_COLLECTOR: await ensureOtelCollector() }
  // Meshes start the programs as their users do.
  await bundlePrograms(['osm', 'controller', 'osm-controller', 'scenario-actor', 'osm-driver-host'])
  const folder = mkdtempSync(join(tmpdir(), 'osm-crashes-'))
  const crashFile = join(folder, 'crashes')
  writeFileSync(crashFile, '')
  try {
    const counts = await runJest('pipy', args, (program, jestArgs, jestEnv) =>
      runAttached(program, jestArgs, {
        env: {
          ...process.env,
          ...env,
          ...sidecars,
          ...modes,
          ...kubernetes,
          ...traffic,
          ...collector,
          ...jestEnv,
          OSM_CRASH_FILE: crashFile,
        },
        stdoutToStderr: true,
      }),
    )
    const crashes = readFileSync(crashFile, 'utf8').split('\n').slice(0, -1)
    say(`${crashes.length} sidecars were ended by a signal${crashes.map((crash) => `\n  ${crash}`).join('')}`)
    reportCounts('pipy', counts)
    return counts.failed === 0 && crashes.length === 0 ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * @param {string | undefined} binary
 * @returns {string | undefined} why there is no Pipy to test with
 */
function obstacleOf(binary) {
  if (binary === undefined || binary === '') return 'set PIPY_BIN to an executable of Pipy 1.5'
  try {
    accessSync(binary, constants.X_OK)
    return undefined
  } catch {
    return `PIPY_BIN is ${binary}, which can't be run; set it to an executable of Pipy 1.5`
  }
}
