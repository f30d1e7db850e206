import { describe, expect, it } from '@jest/globals'

import { Broker, OVERFLOW_TOPIC } from './broker.js'

describe('Broker', () => {
  it('delivers to every subscriber of the topic, from the call of subscribe on', async () => {
    const broker = new Broker()
    const { signal } = new AbortController()
    const first = broker.subscribe('meshconfig', signal)[Symbol.asyncIterator]()
    const second = broker.subscribe('meshconfig', signal)[Symbol.asyncIterator]()
    broker.publish('meshconfig', { field: 'a' })
    broker.publish('certificate', { never: 'seen' })
    broker.publish('meshconfig', { field: 'b' })
    for (const messages of [first, second]) {
      expect((await messages.next()).value).toEqual({ topic: 'meshconfig', payload: { field: 'a' } })
      expect((await messages.next()).value).toEqual({ topic: 'meshconfig', payload: { field: 'b' } })
    }
  })

  it('tells a slow subscriber what it lost, and leaves the others alone', async () => {
    const broker = new Broker(2)
    const messages = broker.subscribe('t', new AbortController().signal)[Symbol.asyncIterator]()
    for (const n of [1, 2, 3]) broker.publish('t', n)
    expect((await messages.next()).value).toEqual({ topic: OVERFLOW_TOPIC, payload: { lost: 1 } })
    expect((await messages.next()).value).toEqual({ topic: 't', payload: 2 })
  })

  it('forgets a subscriber when its signal aborts', () => {
    const broker = new Broker()
    const abort = new AbortController()
    broker.subscribe('t', abort.signal)
    expect(broker.subscribers('t')).toBe(1)
    abort.abort()
    expect(broker.subscribers('t')).toBe(0)
    broker.subscribe('t', abort.signal)
    expect(broker.subscribers('t')).toBe(0)
  })
})
