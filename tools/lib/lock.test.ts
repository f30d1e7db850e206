import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { withLock } from './lock.mjs'
import { temporaryFolders } from '../testing/temporary-folder.js'

const folder = temporaryFolders()

describe('withLock', () => {
  const lockPath = () => join(folder(), 'folder/lock')

  it('lets one in at a time', async () => {
    const path = lockPath()
    const events: string[] = []
    const work = (name: string) => async () => {
      events.push(`${name} in`)
      await new Promise((resolve) => setImmediate(resolve))
      events.push(`${name} out`)
    }
    await Promise.all([withLock(path, work('a')), withLock(path, work('b'))])
    expect(events).toEqual(['a in', 'a out', 'b in', 'b out'])
  })

  it('releases after a failure and returns what the work returns', async () => {
    const path = lockPath()
    await expect(withLock(path, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    await expect(withLock(path, () => Promise.resolve(7))).resolves.toBe(7)
    expect(readdirSync(dirname(path))).toEqual([])
  })

  it('takes over what a dead process left', async () => {
    const path = lockPath()
    await withLock(path, () => Promise.resolve())
    writeFileSync(path, '4711')
    await expect(
      withLock(
        path,
        () => Promise.resolve(existsSync(path)),
        () => false,
      ),
    ).resolves.toBe(true)
    expect(readdirSync(dirname(path))).toEqual([])
  })

  it('waits for a live owner', async () => {
    const path = lockPath()
    await withLock(path, () => Promise.resolve())
    writeFileSync(path, '4711')
    const answers = [true, true, false]
    await withLock(
      path,
      () => Promise.resolve(),
      () => answers.shift() ?? false,
    )
    expect(answers).toEqual([])
  })
})
