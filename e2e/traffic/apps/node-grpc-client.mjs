// Does the exchanges of the gRPC corpus with @grpc/grpc-js.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, compressionAlgorithms, credentials, Metadata, status } from '@grpc/grpc-js'
import { digest, runExchanges } from './exchanges.mjs'

const LARGE_BYTES = 3 * 1024 * 1024
const CONCURRENT_CALLS = 150
const KEEPALIVE_MS = 1_000
const IDLE_MS = 12_000
const COUNT_MS = 100_000
const BARRIER_MS = 60_000
const statuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING']

await runExchanges((target) => {
  const address = `dns:///${target.host}:${target.port}`
  const options = {
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': 60_000,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.use_local_subchannel_pool': 1,
  }
  const client = new Client(address, credentials.createInsecure(), options)
  const compressing = new Client(address, credentials.createInsecure(), {
    ...options,
    'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
  })
  // Several clients may ask one server.
  const key = `node-${process.pid}-${Date.now()}`
  const bytes = (message) => Buffer.from(message)
  const pathOf = (method) => (method.startsWith('/') ? method : `/corpus.Echo/${method}`)
  /** Settles with the message, status, header and trailer; nothing but the status says whether it failed. */
  const call = (method, message, { by = client, metadata = new Metadata(), onStart, ...callOptions } = {}) =>
    new Promise((resolve) => {
      const result = {}
      const own = { waitForReady: true, ...callOptions }
      const started = by.makeUnaryRequest(
        pathOf(method),
        bytes,
        bytes,
        Buffer.from(message),
        metadata,
        own,
        (_error, answer) => {
          result.message = answer
        },
      )
      started.on('metadata', (header) => (result.header = header))
      started.on('status', ({ code, details, metadata: trailer }) =>
        setImmediate(() => resolve({ ...result, code, details, trailer })),
      )
      onStart?.(started)
    })
  const succeeded = async (...args) => {
    const result = await call(...args)
    if (result.code !== 0) throw Object.assign(new Error(result.details), { code: result.code })
    return result
  }
  const stream = (method) =>
    client.makeBidiStreamRequest(pathOf(method), bytes, bytes, new Metadata(), { waitForReady: true })
  const receiveAll = (from) =>
    new Promise((resolve) => {
      const messages = []
      from.on('data', (message) => messages.push(message.toString()))
      from.on('error', () => undefined)
      from.on('status', ({ code, details, metadata }) => resolve({ messages, code, details, trailer: metadata }))
    })
  const ask = async (chat, message) => {
    const answer = once(chat, 'data')
    chat.write(message)
    const [received] = await answer
    return received.toString()
  }
  const untilCounted = async (name, counts) => {
    for (const end = Date.now() + COUNT_MS; Date.now() < end; await sleep(50))
      if ((await call('Counts', name)).message?.toString() === counts) return true
    return false
  }

  return {
    unary: async () => {
      const metadata = new Metadata()
      metadata.set('text', 'plain value')
      metadata.add('list', 'a')
      metadata.add('list', 'b')
      metadata.set('blob-bin', Buffer.from([0, 1, 254, 255]))
      metadata.set('long', 'x'.repeat(6000))
      const { message, header, trailer } = await succeeded('Unary', 'hello', { metadata })
      return {
        message: message.toString(),
        metadata: JSON.parse(header.get('seen-bin')[0].toString()),
        header: header.get('answer-text')[0],
        trailer: trailer.get('trailer-text')[0],
        trailerBlob: trailer.get('trailer-blob-bin')[0].toString('base64'),
      }
    },
    'empty-message': async () => ({ bytes: (await succeeded('Unary', '')).message.length }),
    'large-message': async () =>
      digest((await succeeded('Unary', 'large'.repeat(Math.floor(LARGE_BYTES / 5)))).message),
    gzip: async () => digest((await succeeded('Unary', 'small '.repeat(50_000), { by: compressing })).message),
    failure: async () => {
      const { code, details, trailer } = await call('Fail', '7:Grüße, 100 % sure\nof it')
      return { code, message: details, details: trailer.get('detail-bin')[0].toString() }
    },
    unimplemented: async () => {
      const { code, details } = await call('Missing', '')
      return { code, message: details }
    },
    'client-stream': async () => {
      const sum = stream('Sum')
      const all = receiveAll(sum)
      for (let i = 0; i < 100; i += 1) sum.write(Buffer.alloc(1024))
      sum.end()
      return { answers: (await all).messages }
    },
    'server-stream': async () => {
      const count = stream('Count')
      const all = receiveAll(count)
      count.end('500')
      const { messages } = await all
      return { messages: messages.length, inOrder: messages.every((message, i) => message === String(i)) }
    },
    'bidi-stream': async () => {
      const chat = stream('Chat')
      const [header] = await once(chat, 'metadata')
      let answers = 0
      for (let i = 0; i < 20; i += 1) if ((await ask(chat, String(i))) === String(i)) answers += 1
      const all = receiveAll(chat)
      chat.end()
      const { messages, trailer } = await all
      return {
        header: header.get('answer-text')[0],
        answers,
        rest: messages.length,
        trailer: trailer.get('trailer-text')[0],
      }
    },
    'early-end': async () => {
      const reject = stream('Reject')
      const all = receiveAll(reject)
      reject.write('first')
      const { code, details } = await all
      return { code, message: details }
    },
    deadline: async () => {
      // The time is not for making the connection.
      await succeeded('Unary', '')
      const { code } = await call('Wait', `${key}-deadline:60000`, { deadline: Date.now() + 4_000 })
      // A server that is faster than the client resets the stream, and a sidecar says UNAVAILABLE then.
      const isOver = [status.CANCELLED, status.DEADLINE_EXCEEDED, status.UNAVAILABLE].includes(code)
      return { isOver, endedAtServer: await untilCounted(`${key}-deadline`, '1:1') }
    },
    cancellation: async () => {
      const name = `${key}-cancellation`
      let started
      const waiting = call('Wait', `${name}:60000`, { onStart: (it) => (started = it) })
      const began = await untilCounted(name, '1:0')
      started.cancel()
      return { began, code: (await waiting).code, endedAtServer: await untilCounted(name, '1:1') }
    },
    concurrent: async () => {
      const message = `${key}:${CONCURRENT_CALLS}`
      const deadline = Date.now() + BARRIER_MS
      const results = await Promise.all(
        Array.from({ length: CONCURRENT_CALLS }, () => call('Barrier', message, { deadline })),
      )
      const callsByCode = {}
      for (const { code } of results) callsByCode[code] = (callsByCode[code] ?? 0) + 1
      return { callsByCode }
    },
    keepalive: async () => {
      const chat = stream('Chat')
      chat.on('error', () => undefined)
      const before = await ask(chat, 'before')
      await sleep(IDLE_MS)
      const after = await ask(chat, 'after')
      chat.end()
      return { before, after }
    },
    health: async () => {
      // grpc.health.v1.HealthCheckRequest by hand: {1: name}.
      const request = (name) => Buffer.from([10, name.length, ...Buffer.from(name)])
      const { message } = await succeeded('/grpc.health.v1.Health/Check', request('corpus.Echo'))
      const { code } = await call('/grpc.health.v1.Health/Check', request('corpus.Nothing'))
      return { known: statuses[message[1]], unknown: code }
    },
  }
})
