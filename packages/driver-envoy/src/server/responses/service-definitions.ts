import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js'

import { NONCE_LENGTH } from './nonce-source.js'
import type { DeltaRequest, StateOfTheWorldRequest } from '../state/request-codec.js'
import { decodeDeltaRequest, decodeStateOfTheWorldRequest } from '../state/request-codec.js'
import type { ResponseFrame } from './response-frame.js'

/** A frame and the nonce that one stream gets it under. */
export interface OutgoingResponse {
  readonly frame: ResponseFrame
  readonly nonce: string
}

/**
 * Puts the nonce into the shared frame and hands the frame to grpc-js, which copies it into the stream's own buffer before it gives up control. So no
 * other stream can see that nonce, and a response costs each stream one copy and no more.
 */
function serializeResponse({ frame, nonce }: OutgoingResponse): Buffer {
  frame.bytes.write(nonce, frame.nonceOffset, NONCE_LENGTH, 'latin1')
  return frame.bytes
}

function refuseResponse(): never {
  throw new TypeError('a server does not read responses')
}

function refuseRequest(): never {
  throw new TypeError('a server does not write requests')
}

function bidirectional<Request>(
  path: string,
  decode: (bytes: Uint8Array) => Request,
): MethodDefinition<Request, OutgoingResponse> {
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestDeserialize: decode,
    requestSerialize: refuseRequest,
    responseSerialize: serializeResponse,
    responseDeserialize: refuseResponse,
  }
}

type StateOfTheWorldMethod = MethodDefinition<StateOfTheWorldRequest, OutgoingResponse>
type DeltaMethod = MethodDefinition<DeltaRequest, OutgoingResponse>

/** `envoy.service.discovery.v3.AggregatedDiscoveryService`: all types on one stream. */
export const aggregatedDiscovery = {
  StreamAggregatedResources: bidirectional(
    '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
    decodeStateOfTheWorldRequest,
  ),
  DeltaAggregatedResources: bidirectional(
    '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
    decodeDeltaRequest,
  ),
} as const satisfies ServiceDefinition & {
  readonly StreamAggregatedResources: StateOfTheWorldMethod
  readonly DeltaAggregatedResources: DeltaMethod
}

/** `envoy.service.endpoint.v3.EndpointDiscoveryService`: endpoints alone, for clients that need no more. */
export const endpointDiscovery = {
  StreamEndpoints: bidirectional(
    '/envoy.service.endpoint.v3.EndpointDiscoveryService/StreamEndpoints',
    decodeStateOfTheWorldRequest,
  ),
  DeltaEndpoints: bidirectional(
    '/envoy.service.endpoint.v3.EndpointDiscoveryService/DeltaEndpoints',
    decodeDeltaRequest,
  ),
} as const satisfies ServiceDefinition & {
  readonly StreamEndpoints: StateOfTheWorldMethod
  readonly DeltaEndpoints: DeltaMethod
}
