import { describe, expect, it } from '@jest/globals'

import { type CallerStatus, untilCallersKnow } from './callers-know.js'

const proxy = (uuid: string, changes: Partial<CallerStatus> = {}): CallerStatus => ({
  uuid,
  connected: true,
  ready: true,
  state: 'applied',
  ...changes,
})
const leaving = proxy('leaving', { ready: false })

/** How often is asked until callers know, or the last answer is reached. */
async function asksUntilKnown(
  answers: readonly (readonly CallerStatus[] | undefined)[],
  betweenMs = 0,
): Promise<number> {
  const abort = new AbortController()
  let asks = 0
  await untilCallersKnow(
    'leaving',
    () => {
      const answer = answers[asks]
      asks += 1
      if (asks === answers.length) abort.abort()
      return Promise.resolve(answer)
    },
    abort.signal,
    () => asks * betweenMs,
  )
  return asks
}

describe('untilCallersKnow', () => {
  it.each<[string, readonly CallerStatus[] | undefined]>([
    ['the controller does not answer', undefined],
    ['the instance is still in service', [proxy('leaving'), proxy('caller')]],
    ['a caller has not applied it yet', [leaving, proxy('caller', { state: 'unknown' })]],
    ['a caller is not connected, and may still send', [leaving, proxy('caller', { connected: false, state: 'stale' })]],
  ])('waits while %s', async (_, answer) => {
    expect(await asksUntilKnown([answer, answer, [leaving, proxy('caller')], undefined])).toBe(3)
  })

  it.each<[string, readonly CallerStatus[]]>([
    ['who has refused it', [leaving, proxy('caller', { state: 'rejected' })]],
    [
      'who is not connected and has ended',
      [leaving, proxy('caller', { connected: false, ready: false, state: 'stale' })],
    ],
    ['who only starts', [leaving, proxy('caller', { ready: false, state: 'unknown' })]],
    ['itself, when the controller has forgotten it', []],
  ])('does not wait for %s', async (_, answer) => {
    expect(await asksUntilKnown([answer, undefined])).toBe(1)
  })

  const lost = [leaving, proxy('caller', { connected: false, state: 'stale' })]

  it('gives up on a caller that stays disconnected, and counts again when it was connected in between', async () => {
    const back = [leaving, proxy('caller', { state: 'unknown' })]
    expect(await asksUntilKnown([lost, lost, lost, lost, undefined], 10_000)).toBe(3)
    expect(await asksUntilKnown([lost, lost, back, lost, lost, lost, undefined], 10_000)).toBe(6)
  })

  it('ends when there is no more time', async () => {
    expect(await asksUntilKnown([undefined, undefined])).toBe(2)
  })
})
