import { existsSync, realpathSync } from 'node:fs'
import { cp, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

import { NoDriver } from './load-driver.js'

const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', '.git'])

/**
 * Copies a package to a folder that does not exist yet, with all that it depends on inside, as hosts want driver packages: wherever a package manager has put its dependencies,
 * they are found as Node.js finds them.
 *
 * @throws NoDriver for a dependency that is not installed
 */
export async function copyWhole(folder: string, target: string): Promise<void> {
  await copyPackage(realpathSync(folder), target, new Map())
}

/** @param above - folders of the packages that are found from where this one is put, by their names */
async function copyPackage(folder: string, target: string, above: ReadonlyMap<string, string>): Promise<void> {
  await cp(folder, target, { recursive: true, dereference: true, filter: (path) => !LEFT_OUT.has(basename(path)) })
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    await readFile(join(folder, 'package.json'), 'utf8'),
  ) as {
    readonly dependencies?: Readonly<Record<string, string>>
    readonly optionalDependencies?: Readonly<Record<string, string>>
  }
  const inside = new Map(above)
  const missing: [name: string, from: string][] = []
  for (const name of new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies)])) {
    const from = installed(name, folder)
    if (from === undefined) {
      // Npm leaves those out that do not run here.
      if (Object.hasOwn(optionalDependencies, name)) continue
      throw new NoDriver(`${name}, which ${basename(folder)} depends on, is not installed beside it`)
    }
    if (above.get(name) === from) continue
    missing.push([name, from])
    inside.set(name, from)
  }
  for (const [name, from] of missing) await copyPackage(from, join(target, 'node_modules', name), inside)
}

/** Where Node.js finds a package from a folder, links resolved. */
function installed(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name)
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate)
    if (folder === dirname(folder)) return undefined
  }
}
