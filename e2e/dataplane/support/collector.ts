import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

import { listen } from '@osm-ts/driver-testkit/testing'

import { type GrpcServer, serveBytes } from './grpc-server.js'

/** What a collector was sent. */
export interface Received {
  readonly path: string
  /** As text: names and values are readable in protobuf too. */
  readonly body: string
}

/** Takes spans or records and remembers them. */
export interface Collector extends GrpcServer {
  readonly received: readonly Received[]
}

/** Starts a collector of spans, which come over HTTP, on the loopback. */
export async function startSpanCollector(): Promise<Collector> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ path: request.url ?? '', body })
      response.writeHead(202).end()
    })
  })
  const port = await listen(server, '127.0.0.1', 0)
  return {
    port,
    received,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const EXPORT_LOGS = '/opentelemetry.proto.collector.logs.v1.LogsService/Export'

/** Starts a collector of log records, which come over gRPC, on the loopback. */
export async function startLogCollector(): Promise<Collector> {
  const received: Received[] = []
  const server = await serveBytes(EXPORT_LOGS, (request, done) => {
    received.push({ path: EXPORT_LOGS, body: request.toString() })
    // An empty message: nothing was refused.
    done(new Uint8Array())
  })
  return { ...server, received }
}
