import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { fromBinary } from '@bufbuild/protobuf'
import { DeltaDiscoveryRequestSchema } from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'

import { rawDeltaAds } from '../raw-ads.js'
import type { FloorCommand, FloorReport } from './baseline-server.js'

// The floor: a gRPC server that knows nothing. It answers the first request of each type, and the others that are no acknowledgements, with bytes that it
// was given for the proxy that asks, and writes bytes to as many streams as it is told.

type Stream = ServerDuplexStream<Buffer, Buffer>

const answers = new Map<string, ReadonlyMap<string, readonly Buffer[]>>()
const streams = new Map<string, Stream>()

const report = (message: FloorReport): void => {
  if (process.connected) process.send?.(message)
}

function serve(stream: Stream): void {
  let nodeId = ''
  const answered = new Set<string>()
  const leave = (): void => {
    if (streams.get(nodeId) === stream) streams.delete(nodeId)
  }
  stream.on('close', leave)
  stream.on('cancelled', leave)
  stream.on('error', leave)
  stream.on('data', (octets: Buffer) => {
    const { node, typeUrl, responseNonce } = fromBinary(DeltaDiscoveryRequestSchema, octets)
    if (node !== undefined) {
      nodeId = node.id
      streams.set(nodeId, stream)
    }
    if (responseNonce !== '' || answered.has(typeUrl)) return
    answered.add(typeUrl)
    for (const message of answers.get(nodeId)?.get(typeUrl) ?? []) stream.write(message)
  })
}

async function start({ chain, privateKey, clientRoots }: Extract<FloorCommand, { type: 'start' }>): Promise<number> {
  const server = new Server({ 'grpc.max_send_message_length': -1 })
  server.addService(rawDeltaAds, { DeltaAggregatedResources: serve })
  const key = { cert_chain: Buffer.from(chain), private_key: Buffer.from(privateKey) }
  const credentials = ServerCredentials.createSsl(Buffer.from(clientRoots), [key], true)
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, port) => {
      if (error === null) resolve(port)
      else reject(error)
    })
  })
}

process.on('message', (command: FloorCommand) => {
  switch (command.type) {
    case 'start':
      void start(command).then((port) => report({ type: 'started', id: command.id, port }))
      break
    case 'answers': {
      const types = new Map(command.types.map(([type, messages]) => [type, messages.map((each) => Buffer.from(each))]))
      for (const nodeId of command.nodeIds) answers.set(nodeId, types)
      report({ type: 'done', id: command.id, at: '' })
      break
    }
    case 'push': {
      const at = process.hrtime.bigint().toString()
      const message = Buffer.from(command.message)
      for (const nodeId of command.nodeIds) streams.get(nodeId)?.write(message)
      report({ type: 'done', id: command.id, at })
      break
    }
    case 'close':
      process.exit(0)
  }
})
report({ type: 'listening' })
// A parent that is killed says nothing.
process.once('disconnect', () => process.exit(0))
