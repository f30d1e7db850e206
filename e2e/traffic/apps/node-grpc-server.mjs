// A gRPC server of the traffic corpus: the service corpus.Echo as tools/traffic/go/grpc-server has it. Usage: node-grpc-server.mjs PORT
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js'

const [, , port] = process.argv
const bytes = (message) => Buffer.from(message)
const method = (name, isStream) => ({
  path: `/corpus.Echo/${name}`,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
})
const service = Object.fromEntries([
  ...['Unary', 'Fail', 'Wait', 'Counts', 'Barrier'].map((name) => [name, method(name, false)]),
  ...['Sum', 'Count', 'Chat', 'Reject'].map((name) => [name, method(name, true)]),
])

function metadata(entries) {
  const result = new Metadata()
  for (const [name, value] of entries) result.set(name, value)
  return result
}

const began = new Map()
const ended = new Map()
const note = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1)
const barriers = new Map()

const echo = {
  Unary: (call, callback) => {
    const names = Object.keys(call.metadata.getMap())
    const printable = (value) => {
      const text = Buffer.isBuffer(value) ? value.toString('base64') : value
      // All of it must fit into the header of an answer.
      return text.length > 100 ? `${text.length} characters` : text
    }
    const seen = Object.fromEntries(names.map((name) => [name, call.metadata.get(name).map(printable)]))
    call.sendMetadata(
      metadata([
        ['seen-bin', Buffer.from(JSON.stringify(seen))],
        ['answer-text', 'of the header'],
      ]),
    )
    const trailers = [
      ['trailer-text', 'of the trailer'],
      ['trailer-blob-bin', Buffer.from([0, 1, 255])],
    ]
    callback(null, call.request, metadata(trailers))
  },
  Fail: (call, callback) => {
    const [, code, details] = /^(\d+):(.*)$/s.exec(call.request.toString())
    callback({
      code: Number(code),
      details,
      metadata: metadata([['detail-bin', Buffer.from(`details of ${details}`)]]),
    })
  },
  Wait: (call, callback) => {
    const [key, milliseconds] = call.request.toString().split(':')
    note(began, key)
    const timer = setTimeout(() => callback(null, call.request), Number(milliseconds))
    call.on('cancelled', () => {
      clearTimeout(timer)
      note(ended, key)
    })
  },
  Counts: (call, callback) => {
    const key = call.request.toString()
    callback(null, `${began.get(key) ?? 0}:${ended.get(key) ?? 0}`)
  },
  Barrier: (call, callback) => {
    const [key, calls] = call.request.toString().split(':')
    const waiting = barriers.get(key) ?? []
    barriers.set(key, waiting)
    waiting.push(() => callback(null, call.request))
    if (waiting.length < Number(calls)) return
    barriers.delete(key)
    for (const answer of waiting) answer()
  },
  Sum: (call) => {
    let messages = 0
    let length = 0
    call.on('data', (message) => {
      messages += 1
      length += message.length
    })
    call.on('end', () => {
      call.write(`${messages}:${length}`)
      call.end()
    })
  },
  Count: (call) => {
    call.once('data', (message) => {
      for (let i = 0; i < Number(message); i += 1) call.write(String(i))
      call.end()
    })
  },
  Chat: (call) => {
    call.sendMetadata(metadata([['answer-text', 'before any message']]))
    call.on('data', (message) => call.write(message))
    call.on('end', () => call.end(metadata([['trailer-text', 'of the chat']])))
  },
  Reject: (call) => {
    call.once('data', () => call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'enough' }))
  },
}

// grpc.health.v1.Health/Check by hand: its answer is {1: status}.
const SERVING = Buffer.from([8, 1])
const health = { Check: { ...method('', false), path: '/grpc.health.v1.Health/Check' } }
const checks = {
  Check: (call, callback) => {
    const name = call.request.subarray(2).toString()
    if (name === '' || name === 'corpus.Echo') callback(null, SERVING)
    else callback({ code: status.NOT_FOUND, details: 'unknown service' })
  },
}

const server = new Server({
  'grpc.http2.min_ping_interval_without_data_ms': 500,
  'grpc.keepalive_permit_without_calls': 1,
})
server.addService(service, echo)
server.addService(health, checks)
server.bindAsync(`0.0.0.0:${port}`, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error
})
