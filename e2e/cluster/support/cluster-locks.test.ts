import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ClusterLocks } from './cluster-locks.js'

let folder: string

/** Notes what is done, in order. */
function journal(): { readonly lines: string[]; readonly note: (line: string) => void } {
  const lines: string[] = []
  return { lines, note: (line) => lines.push(line) }
}

const longerThanAPoll = 250

describe('ClusterLocks', () => {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-ts-locks-'))
  })

  afterEach(() => {
    rmSync(folder, { recursive: true })
  })

  it('lets many hold a resource together', async () => {
    const locks = new ClusterLocks(folder)
    const releases = await Promise.all([locks.share('meshes'), locks.share('meshes')])
    for (const release of releases) release()
  })

  it('lets one be alone when all others are gone, and others go on when it is gone', async () => {
    const [one, another] = [new ClusterLocks(folder), new ClusterLocks(folder)]
    const { lines, note } = journal()
    const shared = await one.share('meshes')
    const alone = another.claim('meshes').then((release) => {
      note('alone')
      return release
    })
    await sleep(longerThanAPoll)
    note('the first goes')
    shared()
    const release = await alone
    const late = one.share('meshes').then((releaseLate) => {
      note('together again')
      releaseLate()
    })
    await sleep(longerThanAPoll)
    note('the one goes')
    release()
    await late
    expect(lines).toEqual(['the first goes', 'alone', 'the one goes', 'together again'])
  })

  it('does not let those who come later go before one who waits to be alone', async () => {
    const locks = new ClusterLocks(folder)
    const { lines, note } = journal()
    const shared = await locks.share('nodes')
    const alone = locks.claim('nodes').then((release) => {
      note('alone')
      release()
    })
    // By then the claim is known.
    await sleep(longerThanAPoll)
    const late = locks.share('nodes').then((release) => {
      note('late')
      release()
    })
    await sleep(longerThanAPoll)
    shared()
    await Promise.all([alone, late])
    expect(lines).toEqual(['alone', 'late'])
  })

  it('lets only one be alone', async () => {
    const [one, another] = [new ClusterLocks(folder), new ClusterLocks(folder)]
    let inside = 0
    const enter = async (locks: ClusterLocks): Promise<void> => {
      const release = await locks.claim('meshes')
      inside += 1
      expect(inside).toBe(1)
      await sleep(20)
      inside -= 1
      release()
    }
    await Promise.all([one, another, one, another].map(enter))
  })

  it('keeps resources apart', async () => {
    const locks = new ClusterLocks(folder)
    const release = await locks.claim('meshes')
    const other = await locks.share('nodes')
    release()
    other()
  })

  it('takes no notice of what a process holds that has died', async () => {
    const dead = new Set<number>()
    const locks = new ClusterLocks(folder, (pid) => !dead.has(pid))
    await locks.claim('meshes')
    dead.add(process.pid)
    const release = await locks.share('meshes')
    release()
  })
})
