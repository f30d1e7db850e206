import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { archiveKey, keptArchives } from './kept-archives.mjs'

describe('archives of images', () => {
  let folder: string
  let made: number
  const path = (name: string): string => join(folder, name)
  const kept = (key: string): Promise<readonly string[]> =>
    keptArchives(path('stamp.json'), key, () => {
      made += 1
      for (const name of ['a.tar', 'b.tar']) writeFileSync(path(name), `${name} ${made}`)
      return Promise.resolve([path('a.tar'), path('b.tar')])
    })

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-ts-archives-'))
    made = 0
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  it('are made once for one key', async () => {
    const first = await kept('one')
    expect(first).toEqual([path('a.tar'), path('b.tar')])
    await expect(kept('one')).resolves.toEqual(first)
    expect(made).toBe(1)
    await kept('two')
    expect(made).toBe(2)
  })

  it('are made again when one of them is gone, or somebody has written another one there', async () => {
    await kept('one')
    rmSync(path('b.tar'))
    await kept('one')
    expect(made).toBe(2)
    writeFileSync(path('a.tar'), 'an image with another tag')
    await kept('one')
    expect(made).toBe(3)
  })

  it('have another key for other settings, files and programs, and the same for the same', () => {
    writeFileSync(path('file'), 'one')
    writeFileSync(path('program'), 'one')
    const sources = { settings: { tag: '1' }, files: [path('file')], programs: [path('program')] }
    const first = archiveKey(sources)
    expect(archiveKey(sources)).toBe(first)
    expect(archiveKey({ ...sources, settings: { tag: '2' } })).not.toBe(first)
    writeFileSync(path('file'), 'two')
    const second = archiveKey(sources)
    expect(second).not.toBe(first)
    writeFileSync(path('program'), 'longer')
    expect(archiveKey(sources)).not.toBe(second)
  })
})
