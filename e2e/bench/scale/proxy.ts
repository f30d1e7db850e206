import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2'
import type { SecureContext } from 'node:tls'

import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
} from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'

import { grpcFrame, GrpcFrames } from './grpc-frames.js'
import { CLUSTER, ENDPOINTS, EXTENSION, LISTENER, type ReferenceReader, ROUTES, SECRET } from '../references.js'

/** What a simulated proxy connects with. */
export interface ProxyOptions {
  readonly port: number
  readonly serverName: string
  /** Its certificate and whom it trusts. */
  readonly context: SecureContext
  readonly nodeId: string
  readonly references: ReferenceReader
  /** Called when everything that it has requested so far is there and acknowledged; each time after it was not. */
  readonly onConfigured: () => void
  /** Called after each acknowledgement. */
  readonly onAcknowledged: (typeUrl: string, response: DeltaDiscoveryResponse, frame: Buffer) => void
  readonly onError: (error: Error) => void
}

const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources'
/** As a sidecar names the file with its key. */
const METADATA = { 'osm.private_key_file': '/etc/envoy/sds_key.pem' }
/** As large as Envoy's, so that no answer waits for leave to be sent. */
const WINDOW = 16 * 1024 * 1024

/**
 * A proxy as the control plane sees one, on HTTP/2 without a gRPC library, so that thousands of them leave the machine to the server.
 *
 * It asks as Envoy does: for clusters; for the endpoints and secrets of clusters that came; when those are there, for listeners; for the secrets,
 * extensions and routes of these; and for the routes of extensions. Everything is acknowledged, nothing applied.
 */
export class SimulatedProxy {
  readonly #options: ProxyOptions
  readonly #session: ClientHttp2Session
  readonly #stream: ClientHttp2Stream
  readonly #frames = new GrpcFrames()
  readonly #asked = new Map<string, Set<string>>()
  /** What was requested and has not come, by type and name; an empty name is everything. */
  readonly #open = new Set<string>()
  /** What has come, requested or not. */
  readonly #had = new Set<string>()
  #first = true
  #hasListeners = false
  #closed = false
  /** Of responses, heads of gRPC included. */
  octets = 0
  responses = 0

  constructor(options: ProxyOptions) {
    this.#options = options
    const fail = (error: Error): void => {
      if (this.#closed) return
      this.#closed = true
      options.onError(error)
    }
    this.#session = connect(`https://127.0.0.1:${options.port}`, {
      secureContext: options.context,
      servername: options.serverName,
      settings: { initialWindowSize: WINDOW, enablePush: false },
    })
    this.#session.on('error', fail)
    this.#session.once('connect', () => this.#session.setLocalWindowSize(WINDOW))
    this.#session.once('close', () => fail(new Error('the connection was closed')))
    this.#stream = this.#session.request(
      {
        [constants.HTTP2_HEADER_METHOD]: 'POST',
        [constants.HTTP2_HEADER_PATH]: PATH,
        [constants.HTTP2_HEADER_AUTHORITY]: options.serverName,
        [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
        [constants.HTTP2_HEADER_TE]: 'trailers',
      },
      { endStream: false },
    )
    this.#stream.on('error', fail)
    this.#stream.on('trailers', (trailers: IncomingHttpHeaders) =>
      fail(new Error(`the stream has ended: ${String(trailers['grpc-message'])}`)),
    )
    this.#stream.on('data', (piece: Buffer) => {
      this.octets += piece.length
      for (const message of this.#frames.take(piece)) this.#receive(message)
    })
    this.#ask(CLUSTER, [''])
  }

  isConfigured(): boolean {
    return this.#hasListeners && this.#open.size === 0
  }

  /** What it has requested and not received. */
  get awaited(): readonly string[] {
    return this.#hasListeners ? [...this.#open] : [...this.#open, LISTENER]
  }

  /** Ends the connection as a proxy that is killed does. */
  close(): void {
    this.#closed = true
    this.#session.destroy()
  }

  #receive(message: Buffer): void {
    const response = fromBinary(DeltaDiscoveryResponseSchema, message)
    const { typeUrl, resources, removedResources, nonce } = response
    this.responses += 1
    const was = this.isConfigured()
    for (const name of ['', ...resources.map((resource) => resource.name), ...removedResources]) {
      this.#open.delete(`${typeUrl} ${name}`)
      this.#had.add(`${typeUrl} ${name}`)
    }
    this.#send(typeUrl, { responseNonce: nonce })
    // As Envoy does with clusters that are gone; their endpoints are named after them.
    if (typeUrl === CLUSTER) this.#leave(ENDPOINTS, removedResources)
    for (const { resource } of resources) {
      if (resource === undefined) continue
      const { endpoints, extensions, routes, secrets } = this.#options.references.of(typeUrl, resource.value)
      this.#ask(ENDPOINTS, endpoints)
      this.#ask(EXTENSION, extensions)
      this.#ask(SECRET, secrets)
      this.#ask(ROUTES, routes)
    }
    this.#options.onAcknowledged(typeUrl, response, message)
    if (!this.#hasListeners && this.#open.size === 0) {
      this.#hasListeners = true
      this.#ask(LISTENER, [''])
    }
    if (!was && this.isConfigured()) this.#options.onConfigured()
  }

  #ask(type: string, names: readonly string[]): void {
    if (names.length === 0) return
    const asked = this.#asked.get(type) ?? new Set()
    this.#asked.set(type, asked)
    const fresh = names.filter((name) => !asked.has(name))
    if (fresh.length === 0) return
    for (const name of fresh) {
      asked.add(name)
      if (!this.#had.has(`${type} ${name}`)) this.#open.add(`${type} ${name}`)
    }
    this.#send(type, { resourceNamesSubscribe: fresh.filter((name) => name !== '') })
  }

  #leave(type: string, names: readonly string[]): void {
    const asked = this.#asked.get(type)
    const left = names.filter((name) => asked?.delete(name) === true)
    if (left.length === 0) return
    for (const name of left) {
      this.#open.delete(`${type} ${name}`)
      this.#had.delete(`${type} ${name}`)
    }
    this.#send(type, { resourceNamesUnsubscribe: left })
  }

  #send(
    typeUrl: string,
    fields: {
      readonly responseNonce?: string
      readonly resourceNamesSubscribe?: string[]
      readonly resourceNamesUnsubscribe?: string[]
    },
  ): void {
    const node = this.#first ? { node: { id: this.#options.nodeId, cluster: 'bench', metadata: METADATA } } : {}
    this.#first = false
    const request = create(DeltaDiscoveryRequestSchema, { typeUrl, ...fields, ...node })
    this.#stream.write(grpcFrame(toBinary(DeltaDiscoveryRequestSchema, request)))
  }
}
