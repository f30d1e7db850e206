import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll } from '@jest/globals'

/** Makes folders with files for the tests of one file; they are gone when its tests are over. Call it at the top of the file. */
export function temporaryFolders(): (files?: Readonly<Record<string, string>>) => string {
  const made: string[] = []
  afterAll(() => {
    for (const folder of made) rmSync(folder, { recursive: true, force: true })
  })
  return (files = {}) => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'osm-standalone-test-')))
    made.push(folder)
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    return folder
  }
}
