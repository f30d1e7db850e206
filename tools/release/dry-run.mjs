import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAllDocuments, visit } from 'yaml'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { formatSeconds, say, timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { made, npm, npmCreateDriver, npmProject } from '../registry/npm-project.mjs'
import { mustRun } from '../registry/packed-packages.mjs'
import { startRegistry } from '../registry/verdaccio.mjs'
import { ensureKubectlAndHelm } from '../setup/kubectl-and-helm.mjs'
import { readChangesets } from './changesets.mjs'
import { tryOnCluster } from './cluster-trial.mjs'
import { programImages, sidecarInitImage } from '../images/definitions.mjs'
import { digestOfTag, pullImage, pushArchive } from './image-registry.mjs'
import { startOciRegistry } from './oci-registry.mjs'
import { findCosign, trySignatures } from './signatures.mjs'
import { tryImage, tryInitImage } from './try-image.mjs'

/** @typedef {import('./prepare-release.mjs').Release} Release */
/** @typedef {{ readonly name: string, readonly passed: boolean, readonly skipped?: true, readonly detail: string, readonly seconds: number }} Step */
/**
 * @typedef {object} Context
 * @property {string} folder
 * @property {boolean} twice
 * @property {boolean} onCluster
 * @property {string} npmUrl
 * @property {string} ociHost
 * @property {string} helm
 * @property {string | undefined} cosign
 * @property {string} repository
 * @property {string} commit what is released, whatever is committed meanwhile
 */
/** Made by one step, read by those after it: osm is the installed command. @typedef {{ release?: Release, osm?: string }} State */

const registryPath = 'osm-ts'
const sourceUrl = 'https://git.invalid/osm-ts/osm-ts'

const signing = 'images and chart are signed, and their signatures are verified'

/** @type {Readonly<Record<string, (context: Context, state: State) => Promise<string>>>} */
const steps = {
  'the release is made': makeRelease,
  'a second run in another folder gives the same bytes': compareRuns,
  'programs start in their images with a read-only root, without rights and without a shell': tryImages,
  'images, chart and packages are published': publish,
  [signing]: sign,
  'the chart installs images that the registry has': installChart,
  'npm installs the command line and creates a driver': installPackages,
  'a pod of the mesh answers in a cluster that pulls from the registry': installOnCluster,
}

/**
 * Releases to registries on this machine, and installs from them alone. Each step needs those before it, so the first failure is the last step.
 * @param {string} folder for everything
 * @param {{ twice: boolean, onCluster: boolean, signal: AbortSignal }} options an aborted run ends its registries at once, and itself after the step
 * @returns {AsyncGenerator<Step>}
 */
export async function* dryRun(folder, { twice, onCluster, signal }) {
  const { helm } = await ensureKubectlAndHelm()
  const cosign = await findCosign()
  const oci = await startOciRegistry(await made(folder, 'images'))
  try {
    const registry = await startRegistry(await made(folder, 'npm'))
    signal.addEventListener('abort', () => void Promise.all([oci.stop(), registry.stop()]), { once: true })
    try {
      const context = {
        ...(await releasedCommit(folder)),
        folder,
        twice,
        onCluster,
        npmUrl: registry.url,
        ociHost: oci.host,
        helm,
        cosign,
      }
      /** @type {State} */
      const state = {}
      for (const [name, step] of Object.entries(steps)) {
        if ((step === compareRuns && !twice) || (step === installOnCluster && !onCluster)) continue
        if (step === sign && cosign === undefined) {
          const detail = 'there is no cosign on the PATH; COSIGN_BIN may name one'
          yield { name, passed: true, skipped: true, detail, seconds: 0 }
          continue
        }
        if (signal.aborted) throw new SetUpError('The dry run was interrupted.')
        const result = await attempt(name, () => step(context, state))
        yield result
        if (!result.passed) return
      }
    } finally {
      await registry.stop()
    }
  } finally {
    await oci.stop()
  }
}

/**
 * @param {string} name
 * @param {() => Promise<string>} work
 * @returns {Promise<Step>}
 */
async function attempt(name, work) {
  const start = performance.now()
  const seconds = () => Math.round((performance.now() - start) / 100) / 10
  try {
    const detail = await timed(name, work)
    return { name, passed: true, detail, seconds: seconds() }
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    return { name, passed: false, detail, seconds: seconds() }
  }
}

/**
 * The last commit. Where there is none, or files differ from it, a commit of the files as they are, in its own repository.
 * @param {string} folder
 * @returns {Promise<{ repository: string, commit: string }>}
 */
async function releasedCommit(folder) {
  const [head, status] = await Promise.all([
    run('git', ['rev-parse', 'HEAD'], { cwd: root }),
    run('git', ['status', '--porcelain'], { cwd: root }),
  ])
  const isClean = head.code === 0 && status.code === 0 && status.stdout.toString() === ''
  if (isClean) return { repository: root, commit: head.stdout.toString().trim() }
  const repository = join(folder, 'snapshot.git')
  await mustRun(folder, 'git', 'init', '--quiet', '--bare', repository)
  const here = [`--git-dir=${repository}`, `--work-tree=${root}`]
  await mustRun(root, 'git', ...here, 'add', '--all')
  const identity = ['-c', 'user.name=osm-ts release', '-c', 'user.email=release@osm-ts.invalid']
  await mustRun(root, 'git', ...here, ...identity, 'commit', '--quiet', '--no-gpg-sign', '-m', 'chore: snapshot')
  return { repository, commit: (await mustRun(root, 'git', ...here, 'rev-parse', 'HEAD')).trim() }
}

/** @param {Context} context @param {State} state */
async function makeRelease(context, state) {
  const release = await releaseIn(join(context.folder, 'first'), context)
  state.release = release
  const sizes = Object.entries(release.images['osm-controller']?.bytes ?? {})
  const text = sizes.map(([architecture, bytes]) => `${(bytes / 1e6).toFixed(1)} MB for ${architecture}`).join(', ')
  return `${release.version}, ${Object.keys(release.images).length} images, osm-controller ${text}, compressed`
}

/** @param {Context} context @param {State} state */
async function compareRuns(context, { release }) {
  const second = await releaseIn(join(context.folder, 'a-second-folder'), context)
  const sums = new Map(second.files.map(({ path, sha256 }) => [path, sha256]))
  const files = release?.files ?? []
  const different = files.filter(({ path, sha256 }) => sums.get(path) !== sha256).map(({ path }) => path)
  if (different.length > 0 || files.length !== second.files.length)
    throw new Error(`two runs differ in ${different.join(', ') || 'the names of files'}`)
  await rm(join(context.folder, 'a-second-folder'), { recursive: true })
  return `${files.length} files`
}

/**
 * Clones a commit, gives it its version as a release commit does, and makes everything of the clone.
 * @param {string} folder
 * @param {Context} context
 * @returns {Promise<Release>}
 */
async function releaseIn(folder, { repository, commit, ociHost }) {
  const source = join(folder, 'source')
  const output = join(folder, 'output')
  await mkdir(folder)
  await mustRun(root, 'git', 'clone', '--quiet', '--no-checkout', repository, source)
  await mustRun(source, 'git', 'checkout', '--quiet', '--detach', commit)
  const date = (await mustRun(source, 'git', 'log', '-1', '--format=%cI')).trim()
  const bootstrap = join(source, 'tools/bootstrap.mjs')
  if (readChangesets().length > 0) {
    const day = new Date(date).toISOString().slice(0, 10)
    await mustRun(source, process.execPath, bootstrap, 'changelog', '--release', '--date', day)
    await mustRun(source, process.execPath, bootstrap, 'check', '--fix', 'chart')
    await mustRun(source, 'git', 'add', '--all')
    const identity = { NAME: 'osm-ts release', EMAIL: 'release@osm-ts.invalid', DATE: date }
    const env = Object.fromEntries(
      Object.entries(identity).flatMap(([key, value]) => [
        [`GIT_AUTHOR_${key}`, value],
        [`GIT_COMMITTER_${key}`, value],
      ]),
    )
    const { code, stderr } = await run('git', ['commit', '--quiet', '--no-gpg-sign', '-m', 'chore: release'], {
      cwd: source,
      env,
    })
    if (code !== 0) throw new Error(stderr)
  }
  const args = [
    bootstrap,
    'release',
    '--prepare',
    output,
    '--registry',
    `${ociHost}/${registryPath}`,
    '--repository',
    sourceUrl,
  ]
  const { code, stderr } = await run(process.execPath, args, { cwd: source, onErrorLine: (line) => say(`  ${line}`) })
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(await readFile(join(output, 'release.json'), 'utf8'))
}

/**
 * Programs are equal in the images of all architectures. Under emulation each takes seconds, so that of the largest stands for the others.
 * @param {Context} context
 */
async function tryImages({ folder }) {
  const place = await made(folder, 'roots')
  const archive = (/** @type {string} */ name) => join(folder, 'first/output/images', `${name}.tar`)
  for (const { name } of programImages) await tryImage(place, archive(name), name, 'amd64')
  await tryImage(place, archive('osm-controller'), 'osm-controller', 'arm64')
  for (const architecture of /** @type {const} */ (['amd64', 'arm64']))
    await tryInitImage(place, archive(sidecarInitImage.name), architecture)
  const names = [...programImages, sidecarInitImage].map(({ name }) => name).join(', ')
  return `amd64: ${names}; arm64, emulated: osm-controller, ${sidecarInitImage.name}`
}

/** @param {Context} context */
async function publish({ folder, ociHost, npmUrl, helm }) {
  const output = join(folder, 'first/output')
  const archives = await readdir(join(output, 'images'))
  for (const name of archives) await pushArchive(`http://${ociHost}`, await readFile(join(output, 'images', name)))
  for (const name of await readdir(join(output, 'charts')))
    await mustRun(output, helm, 'push', join('charts', name), `oci://${ociHost}/charts`, '--plain-http')
  const place = await npmProject(folder, 'publisher', npmUrl)
  const packages = await readdir(join(output, 'packages'))
  for (const name of packages) await npm(place, 'publish', join(output, 'packages', name), '--access', 'public')
  return `${archives.length} images, 1 chart, ${packages.length} packages`
}

/** @param {Context} context @param {State} state */
async function sign({ folder, ociHost, cosign = '' }, { release }) {
  const bills = await readdir(join(folder, 'first/output/sbom'))
  const images = Object.entries(release?.images ?? {}).map(([name, { reference }]) => ({
    reference,
    bills: bills.filter((bill) => bill.startsWith(`${name}.`)).map((bill) => join(folder, 'first/output/sbom', bill)),
  }))
  const digest = await digestOfTag(`http://${ociHost}`, 'charts/osm', release?.version ?? '')
  const chart = { reference: `${ociHost}/charts/osm@${digest}`, bills: [] }
  return trySignatures(cosign, await made(folder, 'signatures'), [...images, chart])
}

/** @param {Context} context @param {State} state */
async function installChart({ folder, ociHost, helm }, { release }) {
  const chart = `oci://${ociHost}/charts/osm`
  const version = release?.version ?? ''
  const rendered = await mustRun(folder, helm, 'template', 'osm', chart, '--version', version, '--plain-http')
  const images = imagesOf(rendered).filter((image) => image.startsWith(`${ociHost}/`))
  const expected = Object.values(release?.images ?? {}).map(({ reference }) => reference)
  const foreign = images.filter((image) => !expected.includes(image))
  if (images.length < 3 || foreign.length > 0)
    throw new Error(`the chart names ${images.join(', ')}; expected references of ${expected.join(', ')}`)
  let bytes = 0
  for (const image of expected) bytes += await pullImage(`http://${ociHost}`, image)
  return `${images.length} images named by digest; ${expected.length} pulled, ${(bytes / 1e6).toFixed(1)} MB`
}

/** @param {string} rendered */
function imagesOf(rendered) {
  /** @type {Set<string>} */
  const images = new Set()
  for (const document of parseAllDocuments(rendered))
    if ('contents' in document)
      visit(document, {
        Pair: (_key, { key, value }) => {
          if (String(key) === 'image') images.add(String(value))
        },
      })
  return [...images]
}

/** @param {Context} context @param {State} state */
async function installPackages({ folder, npmUrl }, state) {
  const { release } = state
  const start = performance.now()
  const place = await npmProject(folder, 'user', npmUrl)
  const prefix = join(place, 'global')
  // A global installation does not read the settings of the folder.
  const settings = ['--userconfig', join(place, '.npmrc')]
  await npm(place, 'install', ...settings, '--global', '--prefix', prefix, '@osm-ts/cli')
  const output = await mustRun(place, join(prefix, 'bin/osm'), 'version', '--client-only')
  if (!output.includes(release?.version ?? ''))
    throw new Error(`osm version: expected ${release?.version}, got ${output.trim()}`)
  state.osm = join(prefix, 'bin/osm')
  /** @type {{ repository?: { url?: string } }} */
  const { repository } = JSON.parse(await readFile(join(prefix, 'lib/node_modules/@osm-ts/cli/package.json'), 'utf8'))
  if (repository?.url !== `git+${sourceUrl}.git`)
    throw new Error(`@osm-ts/cli names the repository ${repository?.url}, expected git+${sourceUrl}.git`)
  await npmCreateDriver(place, 'driver-toy')
  /** @type {{ name: string }} */
  const { name } = JSON.parse(await readFile(join(place, 'driver-toy/package.json'), 'utf8'))
  return `${output.trim().split('\n')[0]}; ${name} is created, after ${formatSeconds(performance.now() - start)}`
}

/** @param {Context} context @param {State} state */
function installOnCluster({ folder, ociHost }, { release, osm = '' }) {
  const images = Object.values(release?.images ?? {}).map(({ reference }) => reference)
  return tryOnCluster({ folder, ociHost, version: release?.version ?? '', osm, images })
}
