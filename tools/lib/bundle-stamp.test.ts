import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { bundleIsCurrent, sourcesOf, stampBundle, type ReadFiles } from './bundle-stamp.mjs'

const files: ReadFiles = {
  'src/main.ts': { imports: [{ path: 'src/a.ts' }, { path: 'node:fs', external: true }] },
  'src/a.ts': { imports: [{ path: 'src/b.ts' }, { path: 'node_modules/x/index.js' }] },
  'src/b.ts': { imports: [{ path: 'src/a.ts' }] },
  'src/other.ts': { imports: [] },
}

describe('sourcesOf', () => {
  it('follows imports, also in circles, and leaves out what is installed or of Node', () => {
    expect(sourcesOf('src/main.ts', files)).toEqual(['src/a.ts', 'src/b.ts', 'src/main.ts'])
  })
})

describe('bundleIsCurrent', () => {
  let folder: string
  const write = (path: string, content: string): void => writeFileSync(join(folder, path), content)
  const made = { entry: 'src/main.ts', files, settings: 'settings' }
  const isCurrent = (settings = 'settings'): boolean => bundleIsCurrent(folder, 'main.mjs', settings)

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-ts-stamp-'))
    mkdirSync(join(folder, 'src'))
    for (const path of [...Object.keys(files), 'main.mjs']) write(path, path)
    stampBundle(folder, 'main.mjs', made)
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  it('is true while nothing has changed, and whatever else has', () => {
    expect(isCurrent()).toBe(true)
    write('src/other.ts', 'changed')
    expect(isCurrent()).toBe(true)
  })

  it('is false when a source has changed, even back in time, and true when it is as before', () => {
    write('src/b.ts', 'changed')
    expect(isCurrent()).toBe(false)
    write('src/b.ts', 'src/b.ts')
    expect(isCurrent()).toBe(true)
  })

  it('is false when a source is gone', () => {
    rmSync(join(folder, 'src/a.ts'))
    expect(isCurrent()).toBe(false)
  })

  it('is false with other settings', () => {
    expect(isCurrent('others')).toBe(false)
  })

  it('is false when the bundle is another one, or gone', () => {
    write('main.mjs', 'changed')
    expect(isCurrent()).toBe(false)
    rmSync(join(folder, 'main.mjs'))
    expect(isCurrent()).toBe(false)
  })

  it('is false when a chunk that belongs to it is another one, or gone', () => {
    write('chunk.mjs', 'chunk')
    stampBundle(folder, 'main.mjs', { ...made, chunks: ['chunk.mjs'] })
    expect(isCurrent()).toBe(true)
    write('chunk.mjs', 'changed')
    expect(isCurrent()).toBe(false)
    rmSync(join(folder, 'chunk.mjs'))
    expect(isCurrent()).toBe(false)
  })

  it('is false before there was a stamp', () => {
    expect(bundleIsCurrent(folder, 'src/other.ts', 'settings')).toBe(false)
  })
})
