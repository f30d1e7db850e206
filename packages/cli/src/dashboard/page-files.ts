import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'

import { cliError } from '../errors.js'

/** A file of the page. */
export interface PageFile {
  readonly type: string
  readonly content: Buffer
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * Reads the files of the page, which lie beside the program; by name.
 *
 * @throws OsmError `OSM_CLI_PROGRAM_MISSING` if they are not there
 */
export async function readPageFiles(programFolder: string): Promise<ReadonlyMap<string, PageFile>> {
  // A checkout runs the sources, and finds what was built there.
  const candidates = [join(programFolder, 'dashboard-page'), resolve(programFolder, '../dist/dashboard-page')]
  const folder = candidates.find((path) => existsSync(join(path, 'index.html')))
  if (folder === undefined)
    throw cliError(
      'OSM_CLI_PROGRAM_MISSING',
      `the files of the dashboard are neither in ${candidates.join(' nor in ')}`,
      'in a checkout, run npm run build',
    )
  const files = new Map<string, PageFile>()
  for (const name of await readdir(folder)) {
    const type = types[extname(name)]
    if (type !== undefined) files.set(name, { type, content: await readFile(join(folder, name)) })
  }
  return files
}
