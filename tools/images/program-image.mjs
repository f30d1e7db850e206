import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { licencesOf } from '../lib/bundled-packages.mjs'
import { root } from '../lib/paths.mjs'
import { baseFiles, nonroot } from './base-files.mjs'
import { nodePath, programFolder, programPath } from './definitions.mjs'
import { filesOf, hostFile, machineFiles } from './host-files.mjs'
import { file, makeImage, makeLayer } from './oci-image.mjs'

/** @typedef {import('./oci-image.mjs').Layer} Layer */

/**
 * What every program needs: Node.js, as it runs here unless another one is given, and the libraries it loads.
 * @param {string} [node]
 * @param {string} [version] of it, with a leading "v"
 * @param {import('./host-files.mjs').FileSource} [source] of the libraries
 * @returns {Promise<Layer>}
 */
export async function nodeLayer(node = process.execPath, version = process.version, source = machineFiles) {
  const libraries = await source.libraries([node])
  // Distributions of Node.js have it there; a package of Debian has a record instead.
  const licence = join(dirname(node), '../LICENSE')
  return makeLayer(`Node.js ${version} and its shared libraries`, [
    ...baseFiles(),
    hostFile(node, nodePath),
    ...(existsSync(licence) ? [file(join(dirname(nodePath), '../LICENSE').slice(1), readFileSync(licence))] : []),
    ...filesOf(source, libraries),
    ...(await source.records([node, ...libraries])),
  ])
}

/**
 * What an image has beside Node.js: programs, the licences of what they contain, and our own.
 * @param {Pick<import('./definitions.mjs').ProgramImage, 'bundle' | 'companions'>} definition
 * @returns {readonly string[]} paths below the root
 */
export function sourcesOf({ bundle, companions = [] }) {
  return [...[bundle, ...companions].flatMap((path) => [path, licencesOf(path)]), 'LICENSE']
}

/**
 * The page of a program, in a folder beside it.
 * @param {string | undefined} folder
 */
function pageFiles(folder) {
  if (folder === undefined) return []
  return readdirSync(join(root, folder))
    .sort()
    .map((name) =>
      file(`${programFolder.slice(1)}/${basename(folder)}/${name}`, readFileSync(join(root, folder, name)), 0o444),
    )
}

/**
 * @param {import('./definitions.mjs').ProgramImage} definition
 * @param {import('./assemble.mjs').ImageSettings} settings
 * @param {Layer} base
 * @param {{ name: string, layer: Layer }} [own] an image FROM this one: its name, and what it adds
 */
export function programImage(
  { name, title, bundle, page, ports, companions = [] },
  { registry, tag, architecture, labels, created },
  base,
  own,
) {
  const program = programPath(name)
  const bundles = sourcesOf({ bundle, companions }).map((path) =>
    file(`${programFolder.slice(1)}/${basename(path)}`, readFileSync(join(root, path)), 0o555),
  )
  const layer = makeLayer(`${name}, each program as one file`, [...bundles, ...pageFiles(page)])
  return makeImage({
    name: `${registry}/${own?.name ?? name}:${tag}`,
    architecture,
    ...(created !== undefined && { created }),
    layers: [base, layer, ...(own === undefined ? [] : [own.layer])],
    config: {
      User: nonroot,
      Env: [`PATH=${nodePath.slice(0, nodePath.lastIndexOf('/'))}`],
      Entrypoint: [nodePath, program],
      WorkingDir: '/',
      ...(ports.length > 0 ? { ExposedPorts: Object.fromEntries(ports.map((port) => [`${port}/tcp`, {}])) } : {}),
      Labels: { ...labels, 'org.opencontainers.image.title': title },
    },
  })
}
