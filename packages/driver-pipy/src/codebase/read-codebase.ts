import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

import { Codebase } from './codebase.js'

/** Set where programs are bundled, which then hold the scripts: JSON, path → content. */
declare const OSM_PIPY_CODEBASE: string | undefined

/** The scripts that come with this package. */
export async function readCodebase(): Promise<Codebase> {
  if (typeof OSM_PIPY_CODEBASE === 'string') {
    const scripts = JSON.parse(OSM_PIPY_CODEBASE) as Readonly<Record<string, string>>
    return new Codebase(new Map(Object.entries(scripts)))
  }
  return readCodebaseFolder(fileURLToPath(new URL('../../codebase', import.meta.url)))
}

/** The scripts in a folder and below. What is not a script of a sidecar, such as a test, is left out. */
async function readCodebaseFolder(folder: string): Promise<Codebase> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile() && /^(?!.*\.test\.).*\.js$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  const contents = await Promise.all(
    files.map(async (file) => {
      const path = `/${relative(folder, file).split(sep).join('/')}`
      return [path, await readFile(file, 'utf8')] as const
    }),
  )
  return new Codebase(new Map(contents))
}
