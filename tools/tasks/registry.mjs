import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { reportCounts } from '../lib/counts.mjs'
import { run } from '../lib/process.mjs'
import { formatSeconds, say, timed } from '../lib/progress.mjs'
import { tryCleanMesh } from '../registry/clean-mesh.mjs'
import { driverManifest, publishDriver } from '../registry/example-driver.mjs'
import { made, npm, npmCreateDriver, npmProject } from '../registry/npm-project.mjs'
import { mustRun, packPackages } from '../registry/packed-packages.mjs'
import { startRegistry } from '../registry/verdaccio.mjs'

/** Of level 1: requests, connections, and who may make them. */
const scenarios = ['smi-traffic-target', 'tcp-connectivity']
const scaffoldLimitMilliseconds = 600_000

/** @typedef {{ readonly folder: string, readonly url: string, readonly haproxy: string, readonly signal: AbortSignal }} Bench */
/** @typedef {(bench: Bench) => Promise<string>} Step says what it has seen */

/**
 * One after the other: each needs what those before it have published or installed.
 * @type {Readonly<Record<string, Step>>}
 */
const steps = {
  'packages are packed and published': publishPackages,
  'npm create: from nothing to level 0': scaffoldDriver,
  'a driver of somebody else is built from them and published': publishDriver,
  'osm, that driver and the suite are installed by name': installPackages,
  'a mesh runs on that driver': runMesh,
  'the driver is tried with its real proxy by the installed suite': tryDriver,
}

/**
 * Publishes what the project publishes to its own registry, and does from there what users and authors of drivers do. What the packages depend on comes from
 * wherever npm gets it on this machine. Nothing stays but caches.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(_args, { env }) {
  const folder = await mkdtemp(join(tmpdir(), 'osm-registry-'))
  const stop = new AbortController()
  const abort = () => stop.abort()
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(name, abort)
  let passed = 0
  try {
    const registry = await startRegistry(await made(folder, 'registry'))
    // What npm asks of it fails then, and the rest is cleaned up.
    stop.signal.addEventListener('abort', () => void registry.stop(), { once: true })
    try {
      for (const [name, step] of Object.entries(steps)) {
        const seen = await timed(name, () =>
          step({ folder, url: registry.url, haproxy: env.HAPROXY_BIN ?? '', signal: stop.signal }),
        )
        passed += 1
        process.stdout.write(`ok    ${name}: ${seen}\n`)
      }
    } finally {
      await registry.stop()
    }
  } catch (error) {
    // What comes after it needs what it has not done.
    process.stdout.write(
      `FAIL  ${Object.keys(steps)[passed]}: ${error instanceof Error ? error.message : String(error)}\n`,
    )
  } finally {
    for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.off(name, abort)
    await rm(folder, { recursive: true, force: true })
  }
  reportCounts('registry', { passed, failed: passed === Object.keys(steps).length ? 0 : 1, skipped: 0 })
  return passed === Object.keys(steps).length ? 0 : 1
}

/** @type {Step} */
async function publishPackages({ folder, url }) {
  const archives = await packPackages(await made(folder, 'packages'))
  const place = await npmProject(folder, 'publisher', url)
  for (const archive of archives) await npm(place, 'publish', archive, '--access', 'public')
  return `${archives.length} packages, by npm ${(await npm(place, '--version')).trim()} on Node ${process.version}`
}

/** @type {Step} */
async function scaffoldDriver({ folder, url }) {
  const place = await npmProject(folder, 'author', url)
  const start = performance.now()
  await npmCreateDriver(place, 'driver-toy')
  const driver = join(place, 'driver-toy')
  await cp(join(place, '.npmrc'), join(driver, '.npmrc'))
  await npm(driver, 'install')
  const said = await npm(driver, 'test')
  const milliseconds = performance.now() - start
  const [summary = ''] = /^\d+ passed, 0 failed, .*$/m.exec(said) ?? []
  if (summary === '') throw new Error(said)
  if (milliseconds > scaffoldLimitMilliseconds) throw new Error(`it took ${formatSeconds(milliseconds)}`)
  return `${summary}, after ${formatSeconds(milliseconds)}`
}

/** @type {Step} */
async function installPackages({ folder, url }) {
  const place = await npmProject(folder, 'user', url)
  const { name } = await driverManifest()
  // Nested: the folder of the driver holds everything that it needs, as a list of drivers wants it.
  await npm(place, 'install', '--install-strategy=nested', '@osm-ts/cli', '@osm-ts/driver-testkit', name)
  const version = await mustRun(place, join(place, 'node_modules/.bin/osm'), 'version', '--client-only')
  return version.trim().split('\n')[0] ?? ''
}

/** @type {Step} */
async function runMesh({ folder, haproxy, signal }) {
  if (haproxy === '') {
    say('there is no HAProxy, so no mesh is run on it')
    throw new Error('it takes a HAProxy')
  }
  const { name, bin } = await driverManifest()
  const [sidecarProgram = ''] = Object.keys(bin)
  const place = join(folder, 'user')
  return tryCleanMesh({
    folder: place,
    sidecarClass: 'haproxy',
    driverPackage: name,
    sidecarProgram,
    path: dirname(haproxy),
    signal,
  })
}

/** @type {Step} */
async function tryDriver({ folder, haproxy }) {
  const { name, bin } = await driverManifest()
  const [sidecarProgram = ''] = Object.keys(bin)
  const place = join(folder, 'user')
  const installed = join(place, 'node_modules/.bin')
  const chosen = ['contract.', ...scenarios.map((scenario) => `scenario.${scenario}.`)]
  const { code, stdout, stderr } = await run(
    join(installed, 'driver-testkit'),
    [
      ...['--driver', name, '--level', '1', '--proxy', join(installed, sidecarProgram), '-o', 'json'],
      ...chosen.flatMap((start) => ['--only', start]),
    ],
    { cwd: place, env: { PATH: [dirname(haproxy), process.env.PATH].join(delimiter) } },
  )
  if (code !== 0) throw new Error(`${stderr}${stdout.toString()}`)
  /** @type {{ summary: { passed: number, failed: number }, results: readonly { id: string }[] }} */
  const { summary, results } = JSON.parse(stdout.toString())
  for (const scenario of scenarios)
    if (!results.some(({ id }) => id.startsWith(`scenario.${scenario}.`))) throw new Error(`${scenario} was not tried`)
  return `${summary.passed} passed, ${summary.failed} failed, of ${scenarios.join(' and ')} among others`
}
