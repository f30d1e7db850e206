import { BoundedQueue } from '../async/bounded-queue.js'
import type { CertificateAnnouncement } from './certificate-manager.js'

/** Announcements that a subscriber may lag behind before it misses the oldest. */
export const ANNOUNCEMENT_CAPACITY = 1024

/** Hands announcements to every subscriber, each at its own pace. Publishing never waits. */
export class Announcements {
  readonly #queues = new Set<BoundedQueue<CertificateAnnouncement>>()

  publish(announcement: CertificateAnnouncement): void {
    for (const queue of this.#queues) queue.push(announcement)
  }

  /** The subscription starts with the call, not with the first read, so that nothing in between is missed. */
  subscribe(signal: AbortSignal): AsyncIterable<CertificateAnnouncement> {
    const queue = new BoundedQueue<CertificateAnnouncement>(ANNOUNCEMENT_CAPACITY)
    const leave = (): void => {
      this.#queues.delete(queue)
      signal.removeEventListener('abort', leave)
    }
    if (!signal.aborted) {
      this.#queues.add(queue)
      signal.addEventListener('abort', leave, { once: true })
    }
    return read(queue, signal, leave)
  }
}

async function* read(
  queue: BoundedQueue<CertificateAnnouncement>,
  signal: AbortSignal,
  leave: () => void,
): AsyncGenerator<CertificateAnnouncement, void, undefined> {
  try {
    for await (const entry of queue.read(signal))
      yield 'lost' in entry ? { type: 'missed', count: entry.lost } : entry.item
  } finally {
    leave()
  }
}
