import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from '../lib/paths.mjs'
import { baseFiles, nonroot } from './base-files.mjs'
import { nodePath, programPath } from './definitions.mjs'
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
  return makeLayer(`Node.js ${version} and its shared libraries`, [
    ...baseFiles(),
    hostFile(node, nodePath),
    ...filesOf(source, libraries),
    ...(await source.records([node, ...libraries])),
  ])
}

/**
 * @param {import('./definitions.mjs').ProgramImage} definition
 * @param {import('./assemble.mjs').ImageSettings} settings
 * @param {Layer} base
 * @param {{ name: string, layer: Layer }} [own] an image FROM this one: its name, and what it adds
 */
export function programImage(
  { name, title, bundle, ports, companions = [] },
  { registry, tag, architecture, labels, created },
  base,
  own,
) {
  const program = programPath(name)
  const bundles = [bundle, ...companions].map((path) =>
    file(programPath(basename(path, '.mjs')).slice(1), readFileSync(join(root, path)), 0o555),
  )
  const layer = makeLayer(`${name}, each program as one file`, bundles)
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
