import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { Client, type ClientDuplexStream, credentials, type ServiceError } from '@grpc/grpc-js'
import type { Credential } from '@osm-ts/driver-api'
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'

import { aggregatedDiscovery, endpointDiscovery } from '../../src/server/responses/service-definitions.js'

/** How to reach a server. */
export interface XdsClientOptions {
  readonly port: number
  /** Roots that the server is verified against. */
  readonly roots: string
  readonly credential?: Credential
}

/** A gRPC client of the real thing: another implementation of the wire than the server's. */
export class XdsClient {
  readonly #client: Client

  constructor({ port, roots, credential }: XdsClientOptions) {
    const channel =
      credential === undefined
        ? credentials.createSsl(Buffer.from(roots))
        : credentials.createSsl(Buffer.from(roots), Buffer.from(credential.privateKey), Buffer.from(credential.chain))
    this.#client = new Client(`127.0.0.1:${port}`, channel, {
      'grpc.ssl_target_name_override': 'ads',
      'grpc.max_receive_message_length': -1,
      'grpc.enable_retries': 0,
    })
  }

  delta(
    path = aggregatedDiscovery.DeltaAggregatedResources.path,
  ): XdsClientStream<MessageInitShape<typeof DeltaDiscoveryRequestSchema>, DeltaDiscoveryResponse> {
    return new XdsClientStream(
      this.#client.makeBidiStreamRequest(
        path,
        (init: MessageInitShape<typeof DeltaDiscoveryRequestSchema>) =>
          Buffer.from(toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, init))),
        (bytes) => fromBinary(DeltaDiscoveryResponseSchema, bytes),
      ),
    )
  }

  sotw(
    path = aggregatedDiscovery.StreamAggregatedResources.path,
  ): XdsClientStream<MessageInitShape<typeof DiscoveryRequestSchema>, DiscoveryResponse> {
    return new XdsClientStream(
      this.#client.makeBidiStreamRequest(
        path,
        (init: MessageInitShape<typeof DiscoveryRequestSchema>) =>
          Buffer.from(toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, init))),
        (bytes) => fromBinary(DiscoveryResponseSchema, bytes),
      ),
    )
  }

  endpoints() {
    return this.sotw(endpointDiscovery.StreamEndpoints.path)
  }

  deltaEndpoints() {
    return this.delta(endpointDiscovery.DeltaEndpoints.path)
  }

  /** A stream that sends whatever bytes it is given. */
  raw() {
    return new XdsClientStream(
      this.#client.makeBidiStreamRequest(
        aggregatedDiscovery.DeltaAggregatedResources.path,
        (bytes: Buffer) => bytes,
        (bytes) => fromBinary(DeltaDiscoveryResponseSchema, bytes),
      ),
    )
  }

  close(): void {
    this.#client.close()
  }
}

/** One stream: what came over it, and how it ended. */
export class XdsClientStream<Request, Response extends { readonly typeUrl: string; readonly nonce: string }> {
  readonly received: Response[] = []
  /** Resolves with the status. */
  readonly ended: Promise<Pick<ServiceError, 'code' | 'details'>>
  readonly call: ClientDuplexStream<Request, Response>
  readonly #waiting = new Set<() => void>()
  #taken = 0

  constructor(call: ClientDuplexStream<Request, Response>) {
    this.call = call
    call.on('data', (response: Response) => {
      this.received.push(response)
      for (const resume of [...this.#waiting]) resume()
    })
    call.on('error', () => undefined)
    this.ended = new Promise((resolve) => {
      call.on('status', ({ code, details }) => resolve({ code, details }))
    })
  }

  send(request: Request): void {
    this.call.write(request)
  }

  /** The next response that was not taken yet. Rejects if the stream ends first. */
  async next(): Promise<Response> {
    const over = this.ended.then(({ code, details }) => {
      throw new Error(`the stream ended with ${code}: ${details}`)
    })
    over.catch(() => undefined)
    for (;;) {
      const response = this.received[this.#taken]
      if (response !== undefined) {
        this.#taken += 1
        return response
      }
      await Promise.race([
        over,
        new Promise<void>((resolve) => {
          const done = () => {
            this.#waiting.delete(done)
            resolve()
          }
          this.#waiting.add(done)
        }),
      ])
    }
  }
}
