import type { ServerResponse } from 'node:http'

import type { KubernetesObject } from '../src/api.js'
import type { FakeObjects, StoredChange } from './fake-objects.js'
import { withVersion } from './fake-objects.js'
import type { Predicate } from './fake-selectors.js'

/** A watch that is open. */
interface OpenWatch {
  readonly table: string
  readonly matches: Predicate
  readonly response: ServerResponse
  readonly kind: { readonly apiVersion: string; readonly kind: string }
  readonly end: () => void
}

/** The watches of a fake API server. */
export class FakeWatches {
  readonly #objects: FakeObjects
  readonly #open = new Set<OpenWatch>()
  #frozen = false
  #held: StoredChange[] = []

  constructor(objects: FakeObjects) {
    this.#objects = objects
    objects.subscribe((change) => {
      if (this.#frozen) this.#held.push(change)
      else this.#send(change)
    })
  }

  get count(): number {
    return this.#open.size
  }

  open(options: Omit<OpenWatch, 'end'> & { readonly from: number; readonly timeoutSeconds: number }): void {
    const { from, timeoutSeconds, response, ...rest } = options
    if (response.destroyed) return // who asked has gone while the answer was held back
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    const timer = setTimeout(() => response.end(), timeoutSeconds * 1_000)
    const watch: OpenWatch = { ...rest, response, end: () => response.end() }
    response.on('close', () => {
      clearTimeout(timer)
      this.#open.delete(watch)
    })
    this.#open.add(watch)
    for (const change of this.#objects.since(from, watch.table)) sendTo(watch, change)
  }

  /** Sends a bookmark on every watch. */
  bookmark(): void {
    for (const { response, kind } of this.#open) {
      const metadata = { name: '', resourceVersion: String(this.#objects.version) }
      response.write(`${JSON.stringify({ type: 'BOOKMARK', object: { ...kind, metadata } })}\n`)
    }
  }

  /** Writes any text on every watch. */
  write(text: string): void {
    for (const { response } of this.#open) response.write(text)
  }

  /** Ends every watch as an API server does in good order. */
  end(): void {
    for (const watch of [...this.#open]) watch.end()
  }

  /** Cuts the socket under every watch. */
  cut(): void {
    for (const { response } of [...this.#open]) response.destroy()
  }

  /** Keeps changes back, and what is on the wire as well: the connections look alive. */
  freeze(): void {
    this.#frozen = true
  }

  thaw(): void {
    this.#frozen = false
    for (const change of this.#held.splice(0)) this.#send(change)
  }

  #send(change: StoredChange): void {
    for (const watch of this.#open) sendTo(watch, change)
  }
}

function sendTo(watch: OpenWatch, change: StoredChange): void {
  if (change.table !== watch.table) return
  const event = eventOf(change, watch.matches)
  if (event !== undefined) watch.response.write(`${JSON.stringify(event)}\n`)
}

function eventOf(
  { before, after, version }: StoredChange,
  matches: Predicate,
): { readonly type: string; readonly object: KubernetesObject } | undefined {
  const was = before !== undefined && matches(before)
  const is = after !== undefined && matches(after)
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object: after }
  return was ? { type: 'DELETED', object: withVersion(before, version) } : undefined
}
