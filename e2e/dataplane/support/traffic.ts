import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { type Socket, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

import { errorMessage } from '@osm-ts/driver-api/toolkit'

/** Between two requests of a client that makes load. */
const PAUSE_MS = 10

/** What returned. Status 0 means no answer, with the reason. */
export interface Answer {
  readonly status: number
  readonly body: string
  readonly server?: string
  readonly error?: string
}

/** How to send a request. */
export interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

/** Sends a request through the forward proxy of a sidecar. */
export async function throughProxy(
  proxyUrl: string,
  url: string,
  { method = 'GET', headers = {}, timeoutMs = 10_000 }: RequestOptions = {},
): Promise<Answer> {
  const { hostname, port } = new URL(proxyUrl)
  const where = { host: hostname, port, path: url, agent: false, timeout: timeoutMs }
  const request = httpRequest({ ...where, method, headers: { host: new URL(url).host, ...headers } })
  request.on('timeout', () => request.destroy(new Error('no answer in time')))
  // What fails once the answer has begun fails the answer as well.
  request.on('error', () => undefined)
  request.end()
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const body = await text(response)
    return { status: response.statusCode ?? 0, body, ...parseServer(body) }
  } catch (error) {
    return { status: 0, body: '', error: errorMessage(error) }
  }
}

function parseServer(body: string): { readonly server?: string } {
  try {
    const { server } = JSON.parse(body) as { readonly server?: string }
    return server === undefined ? {} : { server }
  } catch {
    // A proxy's own answer is not JSON.
    return {}
  }
}

/**
 * Requests by a number of clients until the result is called; it gives every answer that was not the expected status. It sends more where so few were sent
 * that the answers would say nothing: a busy machine is slow.
 */
export function load(
  ask: () => Promise<Answer>,
  parallel: number,
  expected = 200,
): (atLeast: number) => Promise<readonly Answer[]> {
  let wanted = Infinity
  let sent = 0
  const failures: Answer[] = []
  const workers = Array.from({ length: parallel }, async () => {
    while (sent < wanted) {
      const answer = await ask()
      sent += 1
      if (answer.status !== expected) failures.push(answer)
      // As fast as they can, a few clients take all processors from what they watch.
      await delay(PAUSE_MS)
    }
  })
  return async (atLeast) => {
    wanted = atLeast
    await Promise.all(workers)
    return failures
  }
}

/** An open connection, and what became of it. */
export interface OpenConnection {
  readonly socket: Socket
  /** Sends a line and resolves with what returns within the time, or with an error's message. */
  readonly ask: (line: string, timeoutMs?: number) => Promise<string>
  /** Everything that came since the last question. */
  readonly received: () => string
  /** True once the other side or the network has ended it. */
  readonly ended: () => boolean
}

/** Opens a TCP connection; a refusal shows with the first question. */
export function openTcp(address: string): OpenConnection {
  const [host = '', port = ''] = address.split(':')
  return follow(connect({ host, port: Number(port) }))
}

/** Opens an upgraded stream through the forward proxy of a sidecar. */
export async function openUpgrade(proxyUrl: string, url: string): Promise<OpenConnection> {
  const proxy = new URL(proxyUrl)
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: proxy.hostname,
      port: Number(proxy.port),
      path: url,
      headers: {
        host: new URL(url).host,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-version': '13',
      },
      agent: false,
    })
    request.on('upgrade', (_response, socket: Socket) => {
      resolve(follow(socket))
    })
    request.on('response', (response) => {
      reject(new Error(`the upgrade was answered ${response.statusCode ?? 0}`))
    })
    request.on('error', reject)
    request.end()
  })
}

function follow(socket: Socket): OpenConnection {
  let ended = false
  let buffer = ''
  let wake: (() => void) | undefined
  const end = (): void => {
    ended = true
    wake?.()
  }
  socket.on('data', (chunk: Buffer) => {
    buffer += chunk.toString()
    wake?.()
  })
  socket.on('end', end)
  socket.on('close', end)
  socket.on('error', end)
  return {
    socket,
    received: () => buffer,
    ended: () => ended,
    ask: async (line, timeoutMs = 3000) => {
      buffer = ''
      socket.write(`${line}\n`)
      const deadline = performance.now() + timeoutMs
      while (!ended && !buffer.includes('\n') && performance.now() < deadline) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 100)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      if (buffer.includes('\n')) return buffer.slice(0, buffer.indexOf('\n'))
      return ended ? 'closed' : 'silence'
    },
  }
}
