import { join } from 'node:path'
import { readClusterArguments, usage } from '../cluster/arguments.mjs'
import { assembleImages, imageNames, imageSettings, programsOf } from '../images/assemble.mjs'
import { assembleNodeImages } from '../images/cluster-images.mjs'
import { bundleHaproxyDriver, haproxyAgentFiles } from '../images/haproxy-image.mjs'
import { archiveKey, keptArchives } from '../images/kept-archives.mjs'
import { nodeLayer } from '../images/program-image.mjs'
import { makeProviderPackage } from '../images/provider-package.mjs'
import { assembleTestImages, curlProgram, testAppName, testDriverName } from '../images/test-images.mjs'
import { bundlePrograms } from '../lib/bundle.mjs'
import { withLock } from '../lib/lock.mjs'
import { root } from '../lib/paths.mjs'
import { runAttached } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { ensureClusterPrograms } from '../setup/cluster-programs.mjs'
import { ensureEnvoy } from '../setup/envoy-binary.mjs'
import { ensureHaproxy } from '../setup/haproxy.mjs'
import { ensureKubectlAndHelm } from '../setup/kubectl-and-helm.mjs'
import { ensureNginx } from '../setup/nginx.mjs'

/** Where the package of the endpoints provider is made that images of tests have. */
const azureProvider = join(root, 'dist/providers/azure')

/**
 * Makes, fills, shows or removes a cluster.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  const request = readClusterArguments(args, process.env)
  if (request === 'help') {
    process.stdout.write(usage)
    return 0
  }
  const [program = ''] = await inTurn(() => bundlePrograms(['cluster']))
  const { kubectl } = await ensureKubectlAndHelm()
  const complete = { ...request, kubectl, ...(await preparation(request)) }
  return runAttached(process.execPath, [program, JSON.stringify(complete)], { env })
}

/** @param {import('../cluster/arguments.mjs').ClusterArguments} request */
async function preparation({ command, provider, registry }) {
  if (command === 'up' && provider === 'local') {
    const { pause, coredns, ...programs } = await ensureClusterPrograms()
    const folder = join(root, 'dist/cluster-images')
    const archives = await timed('Assembling the images of the nodes', () =>
      inTurn(() => assembleNodeImages({ pause, coredns }, folder)),
    )
    return { local: { programs, ...archives } }
  }
  if (command !== 'load') return {}
  return { archives: await timed('Assembling images', () => inTurn(() => assembleArchives(registry))) }
}

/**
 * Two clusters may be made at once from one folder, which has one place for what is assembled.
 * @template T
 * @param {() => Promise<T>} work
 */
function inTurn(work) {
  return withLock(join(root, '.cache/cluster-files.lock'), work)
}

/** @param {string} registry */
async function assembleArchives(registry) {
  const bundles = await bundlePrograms([...programsOf(imageNames), testAppName, testDriverName])
  const settings = imageSettings({ registry })
  const folder = join(root, 'dist/images')
  const pipy = process.env.PIPY_BIN
  const haproxy = await haproxyOnDemand()
  const programs = { envoy: await ensureEnvoy(), nginx: await ensureNginx(), ...(pipy && { pipy }), ...haproxy }
  const provider = (await makeProviderPackage('azure', azureProvider)).map((name) => join(azureProvider, name))
  const files = ['charts/osm/values.yaml', 'images/osm-sidecar-init/select-tables'].map((path) => join(root, path))
  if (haproxy !== undefined) files.push(await bundleHaproxyDriver(), ...haproxyAgentFiles())
  const ofMachine = [process.execPath, curlProgram, ...Object.values(programs)]
  const key = archiveKey({ settings, files: [...bundles, ...provider, ...files], programs: ofMachine })
  return keptArchives(join(folder, 'archives.json'), key, () => makeArchives(settings, folder, programs))
}

/** The HAProxy of this machine, where the suite of the Gateway API is to run with class haproxy: no other test has pods with it. */
async function haproxyOnDemand() {
  if (process.env.OSM_GATEWAY_API_CLASS !== 'haproxy') return undefined
  const haproxy = await ensureHaproxy()
  if (haproxy === '') throw new SetUpError('Pods of class haproxy need a HAProxy: install it, or set HAPROXY_BIN.')
  return { haproxy }
}

/**
 * @param {import('../images/assemble.mjs').ImageSettings} settings
 * @param {string} folder
 * @param {{ readonly envoy: string, readonly nginx: string, readonly pipy?: string, readonly haproxy?: string }} programs
 */
async function makeArchives(settings, folder, programs) {
  // By far the largest, and the same in most of them.
  const base = await nodeLayer()
  const archives = []
  for await (const { path } of assembleImages(imageNames, settings, folder, base)) archives.push(path)
  for await (const { path } of assembleTestImages(settings, { base, ...programs, azure: azureProvider, folder }))
    archives.push(path)
  return archives
}
