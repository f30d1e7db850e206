import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'

import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { fromBinary } from '@bufbuild/protobuf'
import { DeltaDiscoveryRequestSchema } from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'

import { bytesMethod } from '../dataplane/support/grpc-server.js'
import type { FloorCommand, ServerKey } from './baseline-server.js'
import { serveReviews } from './floor-reviews.js'

// The floor, see baseline-server.ts. As a gRPC server it answers the first request of each type, and the others that are not acknowledgements, with bytes that
// it was given for the proxy that asks, and writes bytes to as many streams as it is told.

type Stream = ServerDuplexStream<Buffer, Buffer>

const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources'
/** Delta ADS as bytes. */
const rawDeltaAds = { DeltaAggregatedResources: bytesMethod(PATH, { isStream: true }) }
const answers = new Map<string, ReadonlyMap<string, readonly Buffer[]>>()
const streams = new Map<string, Stream>()
/** Measured as the controller measures itself. */
const delay = monitorEventLoopDelay()
let lines = 0

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

async function start({ chain, privateKey, clientRoots }: ServerKey): Promise<number> {
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

async function read(url: string): Promise<void> {
  const list = (await (await fetch(url)).json()) as { readonly metadata: { readonly resourceVersion: string } }
  const response = await fetch(`${url}?watch=true&resourceVersion=${list.metadata.resourceVersion}`)
  if (response.body === null) throw new Error('the watch has no body')
  void follow(Readable.fromWeb(response.body))
}

async function follow(stream: Readable): Promise<void> {
  for await (const line of createInterface({ input: stream })) {
    JSON.parse(line)
    lines += 1
  }
}

async function obey(command: FloorCommand): Promise<object> {
  switch (command.type) {
    case 'start':
      return { port: await start(command.key) }
    case 'start-reviews':
      return { port: await serveReviews(command) }
    case 'answers': {
      const types = new Map(command.types.map(([type, messages]) => [type, messages.map((each) => Buffer.from(each))]))
      for (const nodeId of command.nodeIds) answers.set(nodeId, types)
      return {}
    }
    case 'push': {
      const at = process.hrtime.bigint().toString()
      const message = Buffer.from(command.message)
      for (const nodeId of command.nodeIds) streams.get(nodeId)?.write(message)
      return { at }
    }
    case 'read':
      await read(command.url)
      return {}
    case 'count':
      return { lines }
    case 'longest-block': {
      const longest = delay.max / 1e6
      delay.reset()
      return { longest }
    }
    case 'close':
      process.exit(0)
  }
}

process.on('message', (command: FloorCommand) => {
  void obey(command).then((answer) => {
    if (process.connected) process.send?.({ id: command.id, ...answer })
  })
})
delay.enable()
process.send?.({ type: 'started' })
// A parent that is killed says nothing.
process.once('disconnect', () => process.exit(0))
