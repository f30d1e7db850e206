import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'

/** @typedef {{ readonly name: string, readonly version: string, readonly license?: string | undefined, readonly texts: readonly string[] }} BundledPackage texts: of its files with licences and notices */

const licenceFile = /^(licen[cs]e|copying|notice)([.-]|$)/i

/**
 * Where the licences of the packages in a bundle are.
 * @param {string} bundle
 */
export function licencesOf(bundle) {
  return `${bundle}.LICENSE.txt`
}

/**
 * The npm packages in bundles.
 * @param {readonly string[]} bundles paths below the root, with a source map beside each
 * @param {string} [base]
 * @returns {readonly BundledPackage[]} sorted
 */
export function packagesOfBundles(bundles, base = root) {
  const sources = bundles.flatMap((bundle) => {
    /** @type {{ sources: readonly string[] }} */
    const map = JSON.parse(readFileSync(join(base, `${bundle}.map`), 'utf8'))
    return map.sources
  })
  return packagesInSources(sources).map((store) => {
    const name = packageName(store)
    const folder = join(base, 'node_modules/.pnpm', store, 'node_modules', name)
    /** @type {{ version: string, license?: string }} */
    const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const files = readdirSync(folder).filter((file) => licenceFile.test(file))
    const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim())
    return { name, version, license, texts }
  })
}

/**
 * @param {readonly string[]} sources of a source map
 * @returns {readonly string[]} folders below node_modules/.pnpm, sorted
 */
export function packagesInSources(sources) {
  const found = sources.flatMap((path) => /node_modules\/\.pnpm\/([^/]+)\//.exec(path)?.[1] ?? [])
  return [...new Set(found)].sort()
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
 * The licences of bundled packages, which ask to travel with the code. Packages with one text share it.
 * @param {readonly BundledPackage[]} packages
 * @returns {string}
 */
export function licenceTexts(packages) {
  /** @type {Map<string, string[]>} packages by text */
  const byText = new Map()
  for (const { name, version, license = 'no licence is declared', texts } of packages) {
    const text = texts.length > 0 ? texts.join('\n\n') : 'The package contains no text of its licence.'
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${license})`])
  }
  const parts = [...byText].map(([text, names]) => `${'='.repeat(80)}\n${names.join('\n')}\n\n${text}\n`)
  return `This program contains code of these packages.\n\n${parts.join('\n')}`
}
