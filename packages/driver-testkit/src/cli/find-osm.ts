import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'

/** The program that runs meshes. */
export interface OsmProgram {
  /** Absolute. */
  readonly path: string
  /** Of its package; empty if it is in none. */
  readonly version: string
}

const PACKAGE = '@osm-ts/cli'

interface Manifest {
  readonly version?: string
  readonly bin?: { readonly osm?: string }
}

/**
 * The program that was named, else that of the installed package.
 *
 * @param folder - absolute; where names and relative paths are looked up from
 * @returns undefined if there is none
 */
export function findOsm(given: string | undefined, folder: string): OsmProgram | undefined {
  if (given !== undefined) {
    const path = resolve(folder, given)
    return existsSync(path) ? { path, version: versionOf(path) } : undefined
  }
  const modules = createRequire(join(folder, 'package.json')).resolve.paths(PACKAGE) ?? []
  const home = modules.map((each) => join(each, PACKAGE)).find((each) => existsSync(join(each, 'package.json')))
  const program = home === undefined ? undefined : manifestIn(home)?.bin?.osm
  if (home === undefined || program === undefined) return undefined
  const path = join(home, program)
  return { path, version: versionOf(path) }
}

/** Of the nearest package above a program. */
function versionOf(path: string): string {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const { version } = manifestIn(folder) ?? {}
    if (version !== undefined || folder === dirname(folder)) return version ?? ''
  }
}

function manifestIn(folder: string): Manifest | undefined {
  const path = join(folder, 'package.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Manifest) : undefined
}
