import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

import type { ThroughputLoad, ThroughputCount } from './sidecar-throughput.js'

// A process of its own, so that nothing else takes its turns: each connection sends its next request when the answer to the one before has come.
process.on('message', (load: ThroughputLoad) => {
  run(load).then(
    (count) => process.send?.(count),
    (error: unknown) => {
      throw error
    },
  )
})

async function run({ at, bytes, connections, warmUpMs, ms }: ThroughputLoad): Promise<ThroughputCount> {
  const request = Buffer.from(bytes, 'latin1')
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect({ ...at, noDelay: true })
      await once(socket, 'connect')
      return socket
    }),
  )
  let requests = 0
  let isOver = false
  const lost: string[] = []
  const ended = sockets.map((socket) =>
    askUntil(socket, request, () => isOver, {
      answered: (status) => {
        requests += 1
        if (status !== '200') lost.push(status)
      },
      lost: (why) => lost.push(why),
    }),
  )
  await pause(warmUpMs)
  const before = requests
  const start = performance.now()
  await pause(ms)
  const counted = requests - before
  const seconds = (performance.now() - start) / 1000
  isOver = true
  await Promise.all(ended)
  for (const socket of sockets) socket.destroy()
  return { requests: counted, seconds, lost: lost.length, why: lost[0] ?? '' }
}

/** Resolves when the last answer has come. */
function askUntil(
  socket: Socket,
  request: Buffer,
  isOver: () => boolean,
  heard: { readonly answered: (status: string) => void; readonly lost: (why: string) => void },
): Promise<void> {
  return new Promise((resolve) => {
    let pending = ''
    const close = (why: string): void => {
      if (!isOver()) heard.lost(why)
      resolve()
    }
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      pending = pending === '' ? text : pending + text
      const status = statusOf(pending)
      if (status === undefined) return
      pending = ''
      heard.answered(status)
      if (isOver()) resolve()
      else socket.write(request)
    })
    socket.on('error', ({ message }) => close(message))
    socket.on('close', () => close('the connection was closed'))
    socket.write(request)
  })
}

/** Of an answer, once all of it is there. */
function statusOf(text: string): string | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = text.slice(0, end + 2).toLowerCase()
  const at = head.indexOf('\r\ncontent-length:')
  const isWhole =
    at < 0
      ? text.endsWith('\r\n0\r\n\r\n')
      : text.length >= end + 4 + Number(head.slice(at + 17, head.indexOf('\r\n', at + 17)))
  return isWhole ? head.slice(9, 12) : undefined
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
