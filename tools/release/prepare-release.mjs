import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parseDocument } from 'yaml'
import { imageNames, imageSettings, makeImages, programsOf } from '../images/assemble.mjs'
import { debianFiles } from '../images/debian-files.mjs'
import { programImages } from '../images/definitions.mjs'
import { machineFiles, ownersOf } from '../images/host-files.mjs'
import { ensureImageNode } from '../images/node-binary.mjs'
import { joinImages } from '../images/oci-image.mjs'
import { nodeLayer } from '../images/program-image.mjs'
import { untar } from './untar.mjs'
import { shellsAmong } from '../images/shells.mjs'
import { sidecarInitSources } from '../images/sidecar-init-image.mjs'
import { writeArchive } from '../images/write-archive.mjs'
import { bundlePrograms } from '../lib/bundle.mjs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { programs } from '../programs.mjs'
import { bundledPackages, libraries, mustRun, packPackages } from '../registry/packed-packages.mjs'
import { ensureKubectlAndHelm } from '../setup/kubectl-and-helm.mjs'
import {
  billOfMaterials,
  bundledComponents,
  debianComponents,
  installedComponents,
  npmComponent,
} from './bill-of-materials.mjs'

/** Made of one image for each, in this order. */
const architectures = /** @type {const} */ (['amd64', 'arm64'])

/** Compressed, as it travels. docs/guides/release.md states it. */
const controllerBudgetBytes = 60e6

/** Keys of osm.image.digest in the values of the chart, by image. */
const digestKeys = /** @type {Readonly<Record<string, string>>} */ ({
  'osm-controller': 'osmController',
  'osm-injector': 'osmInjector',
  'osm-sidecar-init': 'osmSidecarInit',
  'osm-bootstrap': 'osmBootstrap',
  'osm-dashboard': 'osmDashboard',
  'osm-cleanup': 'osmCRDs',
  'osm-preinstall': 'osmPreinstall',
})

/**
 * @typedef {object} Release
 * @property {string} version
 * @property {string} commit
 * @property {string} created RFC 3339
 * @property {Readonly<Record<string, { reference: string, bytes: Readonly<Record<string, number>> }>>} images reference: with the digest; bytes: by architecture
 * @property {readonly { path: string, sha256: string }[]} files everything in the folder, by path
 */

/**
 * Makes everything that is released of this checkout, with the versions that its packages have.
 * @param {string} folder that is empty
 * @param {string} registry in front of the names of images
 * @param {string} [repository] URL that the manifests of packages name
 * @returns {Promise<Release>}
 */
export async function prepareRelease(folder, registry, repository) {
  const source = await sourceOf()
  const { version } = JSON.parse(await readFile(join(root, 'packages/controller/package.json'), 'utf8'))
  await mkdir(join(folder, 'sbom'), { recursive: true })
  await timed('Bundling the programs', () => bundlePrograms(['osm', ...programsOf(imageNames)]))
  const images = await timed('Assembling the images', () => makeReleaseImages(folder, registry, source))
  const work = join(folder, '.packages')
  await mkdir(work)
  const archives = await timed('Packing the packages', () => packPackages(work, repository))
  await mkdir(join(folder, 'packages'))
  for (const path of archives) await cp(path, join(folder, 'packages', basename(path)))
  for (const [name, names] of Object.entries(bundledPackages)) {
    const bundles = await Promise.all(names.map((program) => bundleFiles(programs[program])))
    await writePackageBill(folder, name, bundledComponents(bundles.flat()), source)
  }
  for (const name of libraries)
    await writePackageBill(folder, name, installedComponents(join(root, 'packages', name)), source)
  await timed('Packing the chart', () => packChart(folder, registry, images, source.created))
  await rm(work, { recursive: true })
  const listed = Object.fromEntries(
    images.map(({ key, image, bytes }) => [
      key,
      { reference: `${image.name.slice(0, image.name.lastIndexOf(':'))}@${image.digest}`, bytes },
    ]),
  )
  const release = { version, ...source, images: listed, files: await digests(folder) }
  await writeFile(join(folder, 'release.json'), `${JSON.stringify(release, null, 2)}\n`)
  return release
}

/**
 * SOURCE_DATE_EPOCH decides the date if it is set, and else the commit.
 * @returns {Promise<{ commit: string, created: string }>}
 */
async function sourceOf() {
  const { code, stdout, stderr } = await run('git', ['log', '-1', '--format=%H %ct'])
  if (code !== 0) throw new SetUpError('A release is made of a git checkout.', stderr)
  const [commit = '', seconds = ''] = stdout.toString().trim().split(' ')
  const epoch = process.env.SOURCE_DATE_EPOCH ?? seconds
  if (!/^\d+$/.test(epoch)) throw new SetUpError(`SOURCE_DATE_EPOCH: expected seconds since 1970, got ${epoch}`)
  return { commit, created: new Date(Number(epoch) * 1000).toISOString() }
}

/**
 * @param {string} folder
 * @param {string} registry
 * @param {{ commit: string, created: string }} source
 */
async function makeReleaseImages(folder, registry, source) {
  /** @type {Map<string, import('../images/oci-image.mjs').Image[]>} */
  const parts = new Map()
  for (const architecture of architectures)
    for (const { key, image } of await imagesFor(architecture, folder, registry, source))
      parts.set(key, [...(parts.get(key) ?? []), image])
  const made = []
  for (const [key, images] of parts) {
    const [first, ...others] = images
    if (first === undefined) continue
    const image = joinImages([first, ...others])
    await writeArchive(image, join(folder, 'images'), key)
    made.push({ key, image, bytes: Object.fromEntries(images.map(({ architecture, size }) => [architecture, size])) })
  }
  return made
}

/**
 * @param {(typeof architectures)[number]} architecture
 * @returns {Promise<{ ofNode: import('../images/host-files.mjs').FileSource, ofInit: import('../images/host-files.mjs').FileSource }>}
 */
async function librarySources(architecture) {
  if (architecture === 'amd64') return { ofNode: machineFiles, ofInit: machineFiles }
  // The packages that the images for amd64 are made of, as Debian has them for the other architecture.
  const { path } = await ensureImageNode('amd64')
  const ofNode = await ownersOf(await machineFiles.libraries([path]))
  const ofInit = await ownersOf(await sidecarInitSources())
  return { ofNode: await debianFiles(architecture, ofNode), ofInit: await debianFiles(architecture, ofInit) }
}

/**
 * @param {(typeof architectures)[number]} architecture
 * @param {string} folder
 * @param {string} registry
 * @param {{ commit: string, created: string }} source
 */
async function imagesFor(architecture, folder, registry, source) {
  const node = await ensureImageNode(architecture)
  const { ofNode, ofInit } = await librarySources(architecture)
  const base = await nodeLayer(node.path, `v${node.version}`, ofNode)
  const settings = { ...imageSettings({ registry, source }), architecture }
  const made = []
  for await (const { name: key, image } of makeImages(imageNames, settings, base, ofInit)) {
    if (key === 'osm-controller' && image.size > controllerBudgetBytes)
      throw new SetUpError(`${key} has ${image.size} bytes compressed: expected at most ${controllerBudgetBytes}`)
    const definition = programImages.find(({ name }) => name === key)
    const files = image.layers.flatMap(({ bytes }) => untar(gunzipSync(bytes)))
    const shells = definition === undefined ? [] : shellsAmong(files.map(({ path }) => path))
    if (shells.length > 0) throw new SetUpError(`${key} has a shell: ${shells.join(', ')}`)
    const components = [
      ...debianComponents(files),
      ...(definition === undefined
        ? []
        : [
            ...bundledComponents([definition.bundle, ...(definition.companions ?? [])]),
            {
              type: /** @type {const} */ ('application'),
              name: 'node',
              version: node.version,
              purl: `pkg:generic/node@${node.version}`,
              licence: 'MIT',
            },
          ]),
    ]
    const subject = {
      type: /** @type {const} */ ('application'),
      name: key,
      version: settings.tag,
      purl: `pkg:oci/${key}@${encodeURIComponent(image.digest)}?arch=${architecture}`,
    }
    await writeFile(
      join(folder, 'sbom', `${key}.${architecture}.cdx.json`),
      billOfMaterials(subject, components, source.created),
    )
    made.push({ key, image })
  }
  return made
}

/**
 * @param {string} folder
 * @param {string} name of the folder in packages
 * @param {readonly import('./bill-of-materials.mjs').Component[]} components what the package holds, or what npm installs with it
 * @param {{ created: string }} source
 */
async function writePackageBill(folder, name, components, { created }) {
  /** @type {{ name: string, version: string, license: string }} */
  const manifest = JSON.parse(await readFile(join(root, 'packages', name, 'package.json'), 'utf8'))
  const subject = npmComponent(manifest.name, manifest.version, manifest.license)
  await writeFile(join(folder, 'sbom', `${name}.npm.cdx.json`), billOfMaterials(subject, components, created))
}

/** @param {(typeof programs)[string] | undefined} program */
async function bundleFiles(program) {
  if (program === undefined)
    throw new Error('a published package names a program that tools/programs.mjs does not list')
  const { bundle, chunks, page } = program
  const pages = page === undefined ? [] : [join(page, 'page.js')]
  if (chunks === undefined) return [bundle, ...pages]
  const names = (await readdir(join(root, chunks))).filter((name) => name.endsWith('.mjs'))
  return [bundle, ...pages, ...names.map((name) => join(chunks, name))]
}

/**
 * @param {string} folder
 * @param {string} registry
 * @param {readonly { key: string, image: { readonly digest: string } }[]} images
 * @param {string} created
 */
async function packChart(folder, registry, images, created) {
  const chart = join(folder, '.packages/chart/osm')
  await cp(join(root, 'charts/osm'), chart, { recursive: true, filter: (path) => basename(path) !== 'testdata' })
  const path = join(chart, 'values.yaml')
  const values = parseDocument(await readFile(path, 'utf8'))
  values.setIn(['osm', 'image', 'registry'], registry)
  for (const { key, image } of images) {
    const digestKey = digestKeys[key]
    if (digestKey === undefined) throw new Error(`tools/release/prepare-release.mjs names no value for ${key}`)
    values.setIn(['osm', 'image', 'digest', digestKey], image.digest)
  }
  await writeFile(path, String(values))
  // The archive has the times of its files.
  const time = new Date(created)
  for (const name of await readdir(chart, { recursive: true })) await utimes(join(chart, name), time, time)
  await utimes(chart, time, time)
  const { helm } = await ensureKubectlAndHelm()
  await mkdir(join(folder, 'charts'))
  await mustRun(folder, helm, 'package', chart, '--destination', join(folder, 'charts'))
}

/** @param {string} folder */
async function digests(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Promise.all(
    paths.sort().map(async (path) => ({
      path: path.slice(folder.length + 1),
      sha256: createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    })),
  )
}
