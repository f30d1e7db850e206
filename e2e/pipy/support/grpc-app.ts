import { createServer, type ServerHttp2Stream } from 'node:http2'

import { type App, listening } from './apps.js'

/** A gRPC server in this process, and what it has seen. */
export interface GrpcApp extends App {
  /** Streams that are open. */
  readonly open: () => number
  /** Streams that their callers have given up. */
  readonly cancelled: () => number
}

const head = { ':status': 200, 'content-type': 'application/grpc' }

/** Methods by the last part of their paths; everything else is answered with what was seen, as JSON. */
const methods: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
  // Sends back what comes, at once.
  Echo: (stream) => {
    answer(stream, '0')
    stream.pipe(stream)
  },
  // Gives up after the head of the answer.
  Fail: (stream) => {
    answer(stream, '14')
    stream.resume().end(Buffer.alloc(5))
  },
  // Answers by trailers alone.
  Refuse: (stream) => {
    const status = { 'grpc-status': '14', 'grpc-message': 'not now', 'retry-pushback-ms': '-1' }
    stream.resume().respond({ ...head, ...status }, { endStream: true })
  },
  // The same, without a message.
  Unknown: (stream) => {
    stream.resume().respond({ ...head, 'grpc-status': '12' }, { endStream: true })
  },
  // Never ends.
  Hold: (stream) => {
    answer(stream, '0')
    stream.resume().write(Buffer.alloc(5))
  },
}

/** Speaks HTTP/2 in plaintext. */
export async function grpcApp(name: string): Promise<GrpcApp> {
  const seen = { open: 0, cancelled: 0 }
  const server = createServer()
  server.on('session', (session) => session.on('error', () => session.destroy()))
  server.on('stream', (stream, headers) => {
    seen.open += 1
    stream.on('aborted', () => (seen.cancelled += 1)).on('close', () => (seen.open -= 1))
    stream.on('error', () => stream.destroy())
    const path = String(headers[':path'])
    const method = methods[path.split('/').at(-1) ?? '']
    if (method !== undefined) {
      method(stream)
      return
    }
    stream.resume().respond({ ':status': 200, 'content-type': 'application/json' })
    stream.end(JSON.stringify({ server: name, method: headers[':method'], url: path, headers }))
  })
  return { ...(await listening(server)), open: () => seen.open, cancelled: () => seen.cancelled }
}

function answer(stream: ServerHttp2Stream, code: string): void {
  stream.respond(head, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': code, 'x-last': 'word' }))
}
