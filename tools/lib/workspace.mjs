import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'

/**
 * The folders that are compiled as projects of their own, relative to the root and sorted.
 * @param {string} [base]
 */
export function typeScriptProjects(base = root) {
  const below = (/** @type {string} */ parent) =>
    existsSync(join(base, parent)) ? readdirSync(join(base, parent)).map((name) => `${parent}/${name}`) : []
  const candidates = ['e2e', ...below('examples'), 'fuzz', ...below('packages'), 'tools']
  return candidates.filter((folder) => existsSync(join(base, folder, 'tsconfig.json'))).sort()
}

/**
 * The root tsconfig.json has to name every project: one that it forgets is never checked. A package has to refer to the packages that it depends on: else
 * its types are only found where those have been compiled before.
 * @param {{ fix: boolean, base?: string }} options fix writes the root's file
 * @returns {string[]} what is wrong
 */
export function checkProjectReferences({ fix, base = root }) {
  return [
    ...checkRootReferences(fix, base),
    ...typeScriptProjects(base).flatMap((folder) => missingReferences(folder, base)),
  ]
}

/**
 * @param {boolean} fix
 * @param {string} base
 */
function checkRootReferences(fix, base) {
  const path = join(base, 'tsconfig.json')
  const { references, ...rest } = JSON.parse(readFileSync(path, 'utf8'))
  const listed = /** @type {{ path: string }[]} */ (references).map((reference) => reference.path)
  const expected = typeScriptProjects(base).map((folder) => `./${folder}`)
  if (listed.join() === expected.join()) return []
  if (!fix) return [`tsconfig.json refers to ${listed.join(', ')}; the projects are ${expected.join(', ')}`]
  const text = JSON.stringify({ ...rest, references: expected.map((project) => ({ path: project })) }, null, 2)
  // One line for each project, as people would write it.
  writeFileSync(path, `${text.replace(/\{\s+("path": "[^"]+")\s+\}/g, '{ $1 }')}\n`)
  return []
}

/**
 * @param {string} folder of a project
 * @param {string} base
 */
function missingReferences(folder, base) {
  const path = join(folder, 'tsconfig.build.json')
  // What is not built by itself finds the sources of all packages by their paths.
  if (!existsSync(join(base, path))) return []
  const { dependencies = {} } = JSON.parse(readFileSync(join(base, folder, 'package.json'), 'utf8'))
  const { references = [] } = JSON.parse(readFileSync(join(base, path), 'utf8'))
  const listed = /** @type {{ path: string }[]} */ (references).map((reference) => reference.path)
  return Object.entries(dependencies)
    .filter(([, version]) => version === 'workspace:*')
    .map(([name]) => name.slice(name.indexOf('/') + 1))
    .filter((name) => existsSync(join(base, 'packages', name, 'tsconfig.build.json')))
    .filter((name) => !listed.includes(`../${name}/tsconfig.build.json`))
    .map((name) => `${path} does not refer to ../${name}/tsconfig.build.json, on which its package.json depends`)
}
