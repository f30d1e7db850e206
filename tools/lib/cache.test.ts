import { EventEmitter, once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { cachedFolder, hashInputs } from './cache.mjs'

describe('hashInputs', () => {
  it('tells inputs apart, also where their concatenation is equal', () => {
    expect(hashInputs(['ab', 'c'])).not.toBe(hashInputs(['a', 'bc']))
    expect(hashInputs(['a', 'b'])).toBe(hashInputs(['a', Buffer.from('b')]))
  })
})

describe('cachedFolder', () => {
  const parent = () => mkdtempSync(join(tmpdir(), 'osm-ts-cache-'))

  it('fills a folder once', async () => {
    const cache = parent()
    let calls = 0
    const fill = async (folder: string) => {
      calls += 1
      writeFileSync(join(folder, 'content'), 'first')
    }
    const folder = await cachedFolder('thing', fill, cache)
    expect(await cachedFolder('thing', fill, cache)).toBe(folder)
    expect(calls).toBe(1)
    expect(readFileSync(join(folder, 'content'), 'utf8')).toBe('first')
  })

  it('leaves nothing behind when filling fails, so that the next one starts afresh', async () => {
    const cache = parent()
    const fail = async (folder: string) => {
      writeFileSync(join(folder, 'half'), '')
      throw new Error('no network')
    }
    await expect(cachedFolder('thing', fail, cache)).rejects.toThrow('no network')
    expect(readdirSync(cache)).toEqual([])
  })

  it('lets the first of two concurrent fillers win and gives both its folder', async () => {
    const cache = parent()
    const barrier = new EventEmitter()
    const bothStarted = once(barrier, 'second')
    let started = 0
    const fill = (content: string) => async (folder: string) => {
      started += 1
      if (started === 2) barrier.emit('second')
      await bothStarted
      writeFileSync(join(folder, 'content'), content)
    }
    const folders = await Promise.all(['a', 'b'].map((content) => cachedFolder('thing', fill(content), cache)))
    expect(new Set(folders).size).toBe(1)
    expect(readdirSync(cache)).toEqual(['thing'])
    expect(['a', 'b']).toContain(readFileSync(join(cache, 'thing/content'), 'utf8'))
  })
})
