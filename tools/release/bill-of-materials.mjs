/**
 * Bills of materials in CycloneDX 1.6, and the check of the licences of everything that is bundled.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../lib/paths.mjs'

/** @typedef {{ readonly type: 'library' | 'application', readonly name: string, readonly version: string, readonly purl: string, readonly licence?: string }} Component */

/** Licences that allow to bundle the code; each asks at most to keep its notice. */
const accepted = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT'])

/**
 * The npm packages of a bundle, from its source map.
 * @param {readonly string[]} sources of the map
 * @returns {readonly string[]} folders below node_modules/.pnpm, sorted
 */
export function packagesInSources(sources) {
  const found = sources.flatMap((path) => /node_modules\/\.pnpm\/([^/]+)\//.exec(path)?.[1] ?? [])
  return [...new Set(found)].sort()
}

/**
 * @param {readonly string[]} bundles paths of bundles below the root, with a map beside each
 * @returns {readonly Component[]}
 * @throws Error when the licence of a package is not accepted
 */
export function bundledComponents(bundles) {
  const sources = bundles.flatMap((bundle) => {
    /** @type {{ sources: readonly string[] }} */
    const map = JSON.parse(readFileSync(join(root, `${bundle}.map`), 'utf8'))
    return map.sources
  })
  return packagesInSources(sources).map((folder) => {
    const name = packageName(folder)
    /** @type {{ version: string, license?: string }} */
    const manifest = JSON.parse(
      readFileSync(join(root, 'node_modules/.pnpm', folder, 'node_modules', name, 'package.json'), 'utf8'),
    )
    return npmComponent(name, manifest.version, manifest.license)
  })
}

/**
 * @param {string} folder such as `@fastify+error@4.2.1` or `ajv-formats@3.0.1_ajv@8.20.0`
 * @returns {string}
 */
export function packageName(folder) {
  const [, name] = /^(@?[^@]+)@/.exec(folder) ?? []
  if (name === undefined) throw new Error(`node_modules/.pnpm/${folder}: expected <name>@<version>`)
  return name.replace('+', '/')
}

/**
 * @param {string} name
 * @param {string} version
 * @param {string | undefined} licence an SPDX expression
 * @returns {Component}
 */
export function npmComponent(name, version, licence) {
  if (licence === undefined || !isAccepted(licence))
    throw new Error(
      `${name}@${version}: licence ${licence ?? 'not given'}: expected one of ${[...accepted].sort().join(', ')}`,
    )
  return { type: 'library', name, version, purl: `pkg:npm/${name.replace('@', '%40')}@${version}`, licence }
}

/** @param {string} expression of SPDX: all that AND joins, and one of what OR joins */
function isAccepted(expression) {
  const plain = expression.replaceAll(/[()]/g, '')
  return plain.split(' OR ').some((choice) => choice.split(' AND ').every((name) => accepted.has(name)))
}

/**
 * The Debian packages of an image.
 * @param {readonly { path: string, content: Buffer }[]} files of its layers
 * @returns {readonly Component[]}
 */
export function debianComponents(files) {
  return files
    .filter(({ path }) => path.startsWith('var/lib/dpkg/status.d/'))
    .map(({ content }) => {
      const status = content.toString()
      const field = (/** @type {string} */ name) => new RegExp(`^${name}: (.*)$`, 'm').exec(status)?.[1] ?? ''
      const [name, version] = [field('Package'), field('Version')]
      const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${field('Architecture')}`
      return { type: /** @type {const} */ ('library'), name, version, purl }
    })
}

/**
 * @param {Component} subject
 * @param {readonly Component[]} components
 * @param {string} timestamp RFC 3339
 * @returns {string} the document
 */
export function billOfMaterials(subject, components, timestamp) {
  const entry = (/** @type {Component} */ { licence, ...component }) => ({
    ...component,
    'bom-ref': component.purl,
    ...(licence !== undefined && { licenses: [{ expression: licence }] }),
  })
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { timestamp, component: entry(subject) },
    components: [...components].sort((a, b) => (a.purl < b.purl ? -1 : 1)).map(entry),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}
