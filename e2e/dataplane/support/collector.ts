import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { Server, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js'

import { grpcPort } from './grpc-port.js'

/** What a collector was sent. */
export interface Received {
  readonly path: string
  /** As text: names and values are readable in protobuf too. */
  readonly body: string
}

/** Takes spans or records and remembers them. */
export interface Collector {
  readonly port: number
  readonly received: readonly Received[]
  readonly stop: () => void
}

/** Starts a collector of spans, which come over HTTP, on the loopback. */
export async function startSpanCollector(): Promise<Collector> {
  const received: Received[] = []
  const server: HttpServer = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ path: request.url ?? '', body: Buffer.concat(chunks).toString() })
      response.writeHead(202).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
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
  const server = new Server()
  const same = (bytes: Buffer): Buffer => bytes
  server.addService(
    {
      export: {
        path: EXPORT_LOGS,
        requestStream: false,
        responseStream: false,
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    },
    {
      export: ({ request }: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
        received.push({ path: EXPORT_LOGS, body: request.toString() })
        // An empty message: nothing was refused.
        done(null, Buffer.alloc(0))
      },
    },
  )
  const port = await grpcPort(server)
  return {
    port,
    received,
    stop: () => {
      server.forceShutdown()
    },
  }
}
