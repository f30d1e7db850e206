import type { Message, MessageBroker } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'

import { BoundedQueue } from '../async/bounded-queue.js'

/** Messages that a subscriber may lag behind before it loses the oldest. */
export const SUBSCRIPTION_CAPACITY = 256

/** Topic of the message that tells a subscriber how many messages it lost. */
export const OVERFLOW_TOPIC = 'overflow'

/**
 * Publishes small facts ("this changed") to anyone who asked for the topic.
 *
 * Messages carry no state: a subscriber that lost some reads the state where it is kept. Publishing never waits.
 */
export class Broker implements MessageBroker {
  readonly #topics = new Map<string, Set<BoundedQueue<Message>>>()
  readonly #capacity: number

  constructor(capacity: number = SUBSCRIPTION_CAPACITY) {
    this.#capacity = capacity
  }

  publish(topic: string, payload: JsonValue): void {
    const queues = this.#topics.get(topic)
    if (queues === undefined) return
    const message: Message = { topic, payload }
    for (const queue of queues) queue.push(message)
  }

  /** Number of subscriptions to a topic. */
  subscribers(topic: string): number {
    return this.#topics.get(topic)?.size ?? 0
  }

  /** The subscription starts with the call, not with the first read, so that nothing between the two is missed. */
  subscribe(topic: string, signal: AbortSignal): AsyncIterable<Message> {
    const queue = new BoundedQueue<Message>(this.#capacity)
    const queues = this.#topics.get(topic) ?? new Set()
    this.#topics.set(topic, queues)
    queues.add(queue)
    const leave = (): void => {
      queues.delete(queue)
      if (queues.size === 0 && this.#topics.get(topic) === queues) this.#topics.delete(topic)
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    return messagesOf(queue, signal)
  }
}

async function* messagesOf(
  queue: BoundedQueue<Message>,
  signal: AbortSignal,
): AsyncGenerator<Message, void, undefined> {
  for await (const entry of queue.read(signal)) {
    yield 'lost' in entry ? { topic: OVERFLOW_TOPIC, payload: { lost: entry.lost } } : entry.item
  }
}
