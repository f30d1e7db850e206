import { EventEmitter, once } from 'node:events'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { cachedFolder, hashInputs } from './cache.mjs'
import { temporaryFolders } from '../testing/temporary-folder.js'

const folder = temporaryFolders()

describe('hashInputs', () => {
  it('distinguishes inputs, also where their concatenation is equal', () => {
    expect(hashInputs(['ab', 'c'])).not.toBe(hashInputs(['a', 'bc']))
    expect(hashInputs(['a', 'b'])).toBe(hashInputs(['a', Buffer.from('b')]))
  })
})

describe('cachedFolder', () => {
  it('fills a folder once', async () => {
    const cache = folder()
    let calls = 0
    const fill = async (partial: string) => {
      calls += 1
      writeFileSync(join(partial, 'content'), 'first')
    }
    const filled = await cachedFolder('thing', fill, cache)
    expect(await cachedFolder('thing', fill, cache)).toBe(filled)
    expect(calls).toBe(1)
    expect(readFileSync(join(filled, 'content'), 'utf8')).toBe('first')
  })

  it('leaves nothing behind when filling fails, so that the next one starts afresh', async () => {
    const cache = folder()
    const fail = async (partial: string) => {
      writeFileSync(join(partial, 'half'), '')
      throw new Error('no network')
    }
    await expect(cachedFolder('thing', fail, cache)).rejects.toThrow('no network')
    expect(readdirSync(cache)).toEqual([])
  })

  it('lets the first of two concurrent fillers win and gives both its folder', async () => {
    const cache = folder()
    const barrier = new EventEmitter()
    const bothStarted = once(barrier, 'second')
    let started = 0
    const fill = (content: string) => async (partial: string) => {
      started += 1
      if (started === 2) barrier.emit('second')
      await bothStarted
      writeFileSync(join(partial, 'content'), content)
    }
    const folders = await Promise.all(['a', 'b'].map((content) => cachedFolder('thing', fill(content), cache)))
    expect(new Set(folders).size).toBe(1)
    expect(readdirSync(cache)).toEqual(['thing'])
    expect(['a', 'b']).toContain(readFileSync(join(cache, 'thing/content'), 'utf8'))
  })
})
