import { describe, expect, it } from '@jest/globals'
import { deferred } from '@osm-ts/driver-api/toolkit'

import { QuestionQueue } from './question-queue.js'

describe('a queue of questions', () => {
  it('answers one after the other, also after one that fails', async () => {
    const queue = new QuestionQueue()
    const [first, second] = [deferred<string>(), deferred<string>()]
    const started: string[] = []
    const answers = [first, second].map(({ promise }, at) =>
      queue.ask(() => {
        started.push(`question ${at}`)
        return promise
      }),
    )
    await Promise.resolve()
    expect(started).toEqual(['question 0'])
    first.reject(new Error('no answer'))
    second.resolve('answer')
    await expect(answers[0]).rejects.toThrow('no answer')
    await expect(answers[1]).resolves.toBe('answer')
    expect(started).toEqual(['question 0', 'question 1'])
  })

  it('refuses a question when too many wait, and takes one again later', async () => {
    const queue = new QuestionQueue()
    const slow = deferred<string>()
    const waiting = Array.from({ length: 8 }, () => queue.ask(() => slow.promise))
    await expect(queue.ask(() => slow.promise)).rejects.toMatchObject({ code: 'OSM_CLI_DASHBOARD_BUSY' })
    slow.resolve('answer')
    await Promise.all(waiting)
    await expect(queue.ask(async () => 'next')).resolves.toBe('next')
  })
})
