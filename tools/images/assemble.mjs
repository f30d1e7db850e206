import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../lib/paths.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { programs } from '../programs.mjs'
import { programImages, sidecarInitImage as sidecarInit } from './definitions.mjs'
import { nodeLayer, programImage } from './program-image.mjs'
import { sidecarInitImage } from './sidecar-init-image.mjs'
import { writeArchive } from './write-archive.mjs'

/**
 * @typedef {object} ImageSettings
 * @property {string} registry in front of the names
 * @property {string} tag
 * @property {string} architecture as container registries name it
 * @property {Readonly<Record<string, string>>} labels
 * @property {string} [created] an RFC 3339 time
 */
/** @typedef {{ name: string, digest: string, size: number, path: string }} AssembledImage */

const architectures = /** @type {Readonly<Record<string, string>>} */ ({ x64: 'amd64', arm64: 'arm64' })

/** Names of all images, in the order in which they are made. */
export const imageNames = [...programImages.map(({ name }) => name), sidecarInit.name]

/**
 * @param {{ registry: string, tag?: string | undefined, source?: { commit: string, created: string } }} options source: of what the programs are made
 * @returns {ImageSettings} for this machine
 */
export function imageSettings({ registry, tag, source }) {
  const architecture = architectures[process.arch]
  if (process.platform !== 'linux' || architecture === undefined)
    throw new SetUpError('Images are assembled from this machine, which has to be Linux on x64 or arm64.')
  const { version } = JSON.parse(readFileSync(join(root, 'packages/controller/package.json'), 'utf8'))
  const labels = { 'org.opencontainers.image.licenses': 'Apache-2.0', 'org.opencontainers.image.version': version }
  if (source === undefined) return { registry, tag: tag ?? version, architecture, labels }
  const { commit, created } = source
  const origin = { 'org.opencontainers.image.revision': commit, 'org.opencontainers.image.created': created }
  return { registry, tag: tag ?? version, architecture, labels: { ...labels, ...origin }, created }
}

/**
 * Makes images one after the other, each an archive in the folder.
 * @param {readonly string[]} names
 * @param {ImageSettings} settings
 * @param {string} folder
 * @param {import('./oci-image.mjs').Layer} [nodeBase] the layer of Node.js, from anyone who has it already
 * @returns {AsyncGenerator<AssembledImage>}
 */
export async function* assembleImages(names, settings, folder, nodeBase) {
  for await (const { name, image } of makeImages(names, settings, nodeBase)) yield writeArchive(image, folder, name)
}

/**
 * @param {readonly string[]} names
 * @param {ImageSettings} settings
 * @param {import('./oci-image.mjs').Layer} [nodeBase]
 * @param {import('./host-files.mjs').FileSource} [source] of osm-sidecar-init
 * @returns {AsyncGenerator<{ name: string, image: import('./oci-image.mjs').Image }>}
 */
export async function* makeImages(names, settings, nodeBase, source) {
  const base = names.some((name) => name !== sidecarInit.name) ? (nodeBase ?? (await nodeLayer())) : undefined
  for (const name of names) {
    const definition = programImages.find((image) => image.name === name)
    const image =
      definition === undefined || base === undefined
        ? await sidecarInitImage(settings, source)
        : programImage(definition, settings, base)
    yield { name, image }
  }
}

/**
 * @param {readonly string[]} images
 * @returns {string[]} the programs in them, by their names in tools/programs.mjs
 */
export function programsOf(images) {
  const bundles = programImages
    .filter(({ name }) => images.includes(name))
    .flatMap(({ bundle, companions = [] }) => [bundle, ...companions])
  return [...new Set(bundles)].map((bundle) => {
    const name = Object.keys(programs).find((key) => programs[key]?.bundle === bundle)
    if (name === undefined) throw new SetUpError(`tools/programs.mjs lists no program whose bundle is ${bundle}.`)
    return name
  })
}
