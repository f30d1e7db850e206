import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { root } from './paths.mjs'

/** Relative to the root; named in jest.config.mjs too. */
const folder = '.cache/unit-groups'
/** Few enough to spread over the cores, enough that loading what they test is a small part of it. */
const filesInGroup = 20
const skipped = new Set(['node_modules', 'dist', 'gen'])

/**
 * Writes files that each import many unit tests, and returns how many.
 *
 * Jest gives every file a copy of all modules, and with hundreds of files most of the time goes into loading the same modules again. Modules have no state
 * here, so that tests of many files can share one copy. `npm test -- unit <path>` runs each file by itself.
 */
export async function writeUnitGroups() {
  await mkdir(join(root, folder), { recursive: true })
  const groups = groupFiles(await unitTests(), filesInGroup)
  const names = groups.map((_, index) => `group-${index + 1}.test.ts`)
  await Promise.all(
    groups.map((files, index) => writeFile(join(root, folder, /** @type {string} */ (names[index])), importing(files))),
  )
  // What is there and still right stays: `npm test` and the check may read it at the same time.
  const left = (await readdir(join(root, folder))).filter((name) => !names.includes(name))
  await Promise.all(left.map((name) => rm(join(root, folder, name), { force: true })))
  return groups.length
}

/**
 * Neighbours stay together: they test the same modules.
 * @param {readonly string[]} files
 * @param {number} size
 * @returns {string[][]}
 */
export function groupFiles(files, size) {
  const sorted = [...files].sort()
  const count = Math.ceil(sorted.length / size)
  const share = sorted.length / count
  return Array.from({ length: count }, (_, index) =>
    sorted.slice(Math.round(index * share), Math.round((index + 1) * share)),
  )
}

/** @param {readonly string[]} files relative to the root */
function importing(files) {
  return files.map((file) => `import '${relative(folder, file).replace(/\.ts$/, '.js')}'\n`).join('')
}

/** The files that the tier `unit` of jest.config.mjs matches. */
async function unitTests() {
  const packages = await readdir(join(root, 'packages'))
  const folders = [
    ...packages.map((name) => `packages/${name}/src`),
    'tools',
    'examples',
    'fuzz',
    'e2e/bench',
    'e2e/cluster/app',
    'e2e/cluster/local',
    'e2e/cluster/support',
  ]
  return (await Promise.all(folders.map(testsBelow))).flat()
}

/**
 * @param {string} path relative to the root
 * @returns {Promise<string[]>}
 */
async function testsBelow(path) {
  const entries = await readdir(join(root, path), { withFileTypes: true }).catch(() => [])
  const found = await Promise.all(
    entries.map(async (entry) => {
      const inner = `${path}/${entry.name}`
      if (entry.isDirectory()) return skipped.has(entry.name) ? [] : testsBelow(inner)
      return /(?<!\.integration)\.test\.ts$/.test(entry.name) ? [inner] : []
    }),
  )
  return found.flat()
}
