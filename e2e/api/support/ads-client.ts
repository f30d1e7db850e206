import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type ClientDuplexStream, Client, credentials } from '@grpc/grpc-js'
import {
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'

import { type Status, StatusSchema } from '@osm-ts/envoy-api/google/rpc/status_pb.js'

import { CLUSTER, ENDPOINTS, EXTENSION, LISTENER, ReferenceReader, ROUTES, SECRET } from '../../bench/references.js'

/** What a simulated proxy connects with. */
export interface AdsClientOptions {
  /** `host:port`. */
  readonly target: string
  readonly serverName: string
  readonly roots: string
  readonly chain: string
  readonly privateKey: string
  readonly nodeId: string
  /** Called after each acknowledgement. */
  readonly onAcknowledged?: () => void
  readonly onError: (error: Error) => void
  /** Called with every response, before it is acknowledged. */
  readonly onResponse?: (response: DeltaDiscoveryResponse) => void
  /** Why a response is refused; it is acknowledged where this gives nothing. */
  readonly refuse?: (response: DeltaDiscoveryResponse) => string | undefined
  /** What the answer to a response waits for; it is answered at once where this gives nothing. */
  readonly hold?: (response: DeltaDiscoveryResponse) => Promise<void> | undefined
  /** Names of secrets to subscribe to: none, unless given. */
  readonly secrets?: readonly string[]
}

/**
 * A proxy as the control plane sees one: subscribes in the order in which Envoy does, over delta ADS, and acknowledges everything that it is not told to refuse.
 *
 * It decodes listeners and extensions to learn the names of extensions and route configurations, and nothing else.
 */
export class AdsClient {
  readonly #options: AdsClientOptions
  readonly #client: Client
  readonly #stream: ClientDuplexStream<DeltaDiscoveryRequest, DeltaDiscoveryResponse>
  readonly #references = new ReferenceReader()
  readonly #endpoints = new Set<string>()
  readonly #extensions = new Set<string>()
  readonly #routes = new Set<string>()
  #first = true

  constructor(options: AdsClientOptions) {
    this.#options = options
    this.#client = new Client(
      options.target,
      credentials.createSsl(Buffer.from(options.roots), Buffer.from(options.privateKey), Buffer.from(options.chain)),
      {
        'grpc.ssl_target_name_override': options.serverName,
        'grpc.default_authority': options.serverName,
        'grpc.max_receive_message_length': -1,
        // Clients of one process must not share a connection.
        'grpc.use_local_subchannel_pool': 1,
      },
    )
    this.#stream = this.#client.makeBidiStreamRequest(
      '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
      (request: DeltaDiscoveryRequest) => Buffer.from(toBinary(DeltaDiscoveryRequestSchema, request)),
      (response) => fromBinary(DeltaDiscoveryResponseSchema, response),
    )
    this.#stream.on('data', (response: DeltaDiscoveryResponse) => {
      this.#take(response)
    })
    this.#stream.on('error', options.onError)
    this.#send(CLUSTER, {})
    this.#send(LISTENER, {})
    if (options.secrets !== undefined) this.#send(SECRET, { resourceNamesSubscribe: [...options.secrets] })
  }

  close(): void {
    this.#stream.cancel()
    this.#client.close()
  }

  #take(response: DeltaDiscoveryResponse): void {
    this.#options.onResponse?.(response)
    const held = this.#options.hold?.(response)
    if (held === undefined) this.#answer(response)
    else void held.then(() => this.#answer(response))
  }

  #answer(response: DeltaDiscoveryResponse): void {
    const names = response.resources.map(({ name }) => name)
    const refusal = this.#options.refuse?.(response)
    this.#send(response.typeUrl, {
      responseNonce: response.nonce,
      ...(refusal !== undefined && { errorDetail: create(StatusSchema, { code: 3, message: refusal }) }),
    })
    if (refusal !== undefined) return
    if (response.typeUrl === CLUSTER)
      this.#subscribe(
        ENDPOINTS,
        this.#endpoints,
        names.filter((name) => !name.endsWith('|local')),
      )
    if (response.typeUrl === LISTENER || response.typeUrl === EXTENSION) {
      const references = response.resources.flatMap(({ resource }) =>
        resource === undefined ? [] : [this.#references.of(response.typeUrl, resource.value)],
      )
      this.#subscribe(
        EXTENSION,
        this.#extensions,
        references.flatMap(({ extensions }) => extensions),
      )
      this.#subscribe(
        ROUTES,
        this.#routes,
        references.flatMap(({ routes }) => routes),
      )
    }
    this.#options.onAcknowledged?.()
  }

  #subscribe(type: string, known: Set<string>, names: readonly string[]): void {
    const fresh = [...new Set(names)].filter((name) => !known.has(name))
    if (fresh.length === 0) return
    for (const name of fresh) known.add(name)
    this.#send(type, { resourceNamesSubscribe: fresh })
  }

  #send(
    typeUrl: string,
    fields: {
      readonly responseNonce?: string
      readonly resourceNamesSubscribe?: string[]
      readonly errorDetail?: Status
    },
  ): void {
    const node = this.#first ? { node: { id: this.#options.nodeId, cluster: 'bench' } } : {}
    this.#first = false
    this.#stream.write(create(DeltaDiscoveryRequestSchema, { typeUrl, ...fields, ...node }))
  }
}
