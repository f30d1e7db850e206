import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

import { listen } from '@osm-ts/driver-testkit/testing'

import type { RawAnswer } from './raw-http.js'

/** A sidecar has acknowledged its policy a moment before all of its threads follow it, on a busy machine a long one. */
export const TRIES_FOR_MS = 120_000
const OUTSIDE = 'outside the mesh'

/** A server that belongs to no one's mesh. */
export interface OutsideServer {
  readonly port: number
  readonly stop: () => void
}

export async function startOutsideServer(): Promise<OutsideServer> {
  const server = createServer((request, response) => {
    request.resume()
    response.end(OUTSIDE)
  })
  const port = await listen(server, '127.0.0.1', 0)
  return {
    port,
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** What became of a request to such a server. Refusals come from the routes of a sidecar; another failure is none. */
export function outcomeOutside({ status, body }: RawAnswer): string {
  if (status === 200 && body === OUTSIDE) return 'allow'
  return status === 403 || status === 404 ? 'deny' : `fails with ${status}: ${body}`
}

/** The answer to a request, or to a later one if the first is not as it should be. */
export async function lasting<T>(
  ask: () => Promise<T>,
  isRight: (answer: T) => boolean,
  deadline = performance.now() + TRIES_FOR_MS,
): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (isRight(answer) || performance.now() > deadline) return answer
    await sleep(50)
  }
}
