import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll } from '@jest/globals'

/**
 * Makes folders for the tests of one file, which are gone when its tests are over. Call it at the top of the file.
 */
export function temporaryFolders(): (files?: Readonly<Record<string, string>>) => string {
  const made: string[] = []
  afterAll(() => {
    for (const folder of made) rmSync(folder, { recursive: true, force: true })
  })
  return (files = {}) => {
    const folder = mkdtempSync(join(tmpdir(), 'osm-ts-test-'))
    made.push(folder)
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), content)
    }
    return folder
  }
}
