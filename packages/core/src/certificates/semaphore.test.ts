import { describe, expect, it } from '@jest/globals'

import { Semaphore } from './semaphore.js'

const overflow = () => new Error('too many')

/** A task that ends when the test says so. */
function task() {
  let finish: () => void = () => undefined
  let started = false
  const done = new Promise<void>((resolve) => (finish = resolve))
  const run = async () => {
    started = true
    await done
  }
  return { run, finish: () => finish(), started: () => started }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

describe('a semaphore', () => {
  it('lets so many run, so many wait, and refuses the rest', async () => {
    const semaphore = new Semaphore(2, 1)
    const tasks = [task(), task(), task()]
    const runs = tasks.map(({ run }) => semaphore.run(run, overflow))
    await expect(semaphore.run(task().run, overflow)).rejects.toThrow('too many')
    expect(tasks.map(({ started }) => started())).toEqual([true, true, false])
    tasks[1]?.finish()
    await settled()
    expect(tasks.map(({ started }) => started())).toEqual([true, true, true])
    for (const { finish } of tasks) finish()
    await Promise.all(runs)
    const [one, other] = [task(), task()]
    const more = [semaphore.run(one.run, overflow), semaphore.run(other.run, overflow)]
    expect([one.started(), other.started()]).toEqual([true, true])
    one.finish()
    other.finish()
    await Promise.all(more)
  })

  it('gives the place of a failed task to the next', async () => {
    const semaphore = new Semaphore(1, 1)
    const failed = semaphore.run(() => Promise.reject(new Error('failed')), overflow)
    const next = semaphore.run(async () => 'next', overflow)
    await expect(failed).rejects.toThrow('failed')
    expect(await next).toBe('next')
  })

  it('lets no one in any more once it is closed', async () => {
    const semaphore = new Semaphore(1, 1)
    const running = task()
    const run = semaphore.run(running.run, overflow)
    const waiting = semaphore.run(task().run, overflow)
    semaphore.close(new Error('closed'))
    await expect(waiting).rejects.toThrow('closed')
    await expect(semaphore.run(task().run, overflow)).rejects.toThrow('closed')
    running.finish()
    await run
  })
})
