/**
 * Bills of materials in CycloneDX 1.6, and the check of the licences of everything that is bundled.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packagesOfBundles } from '../lib/bundled-packages.mjs'

/** @typedef {{ readonly type: 'library' | 'application', readonly name: string, readonly version: string, readonly purl: string, readonly licence?: string }} Component */

/** Licences that allow to bundle the code; each asks at most to keep its notice. */
const accepted = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT'])

/**
 * @param {readonly string[]} bundles paths of bundles below the root, with a map beside each
 * @returns {readonly Component[]}
 * @throws Error when the licence of a package is not accepted
 */
export function bundledComponents(bundles) {
  return packagesOfBundles(bundles).map(({ name, version, license }) => npmComponent(name, version, license))
}

/**
 * What npm installs with a package: its dependencies and theirs, in the versions that are installed here.
 * @param {string} folder of the package
 * @returns {readonly Component[]} without the package itself
 * @throws Error when a dependency is not installed, or when its licence is not accepted
 */
export function installedComponents(folder) {
  /** @type {Map<string, Component>} by folder */
  const found = new Map()
  const queue = [realpathSync(folder)]
  for (let parent = queue.pop(); parent !== undefined; parent = queue.pop()) {
    const { dependencies = {}, optionalDependencies = {} } = manifestIn(parent)
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const path = resolveDependency(parent, name)
      if (path === undefined && Object.hasOwn(optionalDependencies, name)) continue
      if (path === undefined) throw new Error(`${parent} depends on ${name}, which is not installed`)
      if (found.has(path)) continue
      const { version, license } = manifestIn(path)
      found.set(path, npmComponent(name, version, license))
      queue.push(path)
    }
  }
  return [...found.values()]
}

/**
 * @param {string} folder
 * @returns {{ readonly version: string, readonly license?: string, readonly dependencies?: Readonly<Record<string, string>>, readonly optionalDependencies?: Readonly<Record<string, string>> }}
 */
function manifestIn(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

/**
 * Searches as Node.js does: in the node_modules of the package and of each folder above it.
 * @param {string} folder
 * @param {string} name
 * @returns {string | undefined} the folder of the dependency, without symbolic links
 */
function resolveDependency(folder, name) {
  for (let parent = folder; ; parent = dirname(parent)) {
    const path = join(parent, 'node_modules', name)
    if (existsSync(path)) return realpathSync(path)
    if (parent === dirname(parent)) return undefined
  }
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
  // A package may be installed in several folders, one for each set of its peers.
  const unique = [...new Map(components.map((component) => [component.purl, component])).values()]
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { timestamp, component: entry(subject) },
    components: unique.sort((a, b) => (a.purl < b.purl ? -1 : 1)).map(entry),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}
