import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

import { ask } from './mesh.js'

/** Between two requests of a connection: the machine is not to be kept from everything else. */
const PAUSE_MS = 5

/** What became of requests. */
export interface Outcome {
  readonly sent: number
  /** What was answered otherwise than by 200, or not at all. */
  readonly lost: readonly string[]
}

/** Sends requests on connections that stay open, for as long as the work takes. */
export async function underLoad(
  port: number,
  host: string,
  { connections, methods }: { readonly connections: number; readonly methods: readonly string[] },
  work: () => Promise<void>,
): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const stop = new AbortController()
  const lost: string[] = []
  let sent = 0
  const load = Array.from({ length: connections }, async () => {
    while (!stop.signal.aborted) {
      const method = methods[sent % methods.length] ?? 'GET'
      sent += 1
      try {
        const { status, body } = await ask(port, host, '/', { agent, method })
        if (status !== 200) lost.push(`${method}: ${status} ${body}`)
      } catch (error) {
        lost.push(`${method}: ${String(error)}`)
      }
      await sleep(PAUSE_MS)
    }
  })
  try {
    await work()
  } finally {
    stop.abort()
    await Promise.all(load)
    agent.destroy()
  }
  return { sent, lost }
}
