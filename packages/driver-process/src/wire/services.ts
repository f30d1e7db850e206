import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js'

import type { MessageOf, MessageType } from './message.js'
import * as messages from './messages.js'

/** JSON of a value of the contract. */
export type Document = MessageOf<{ readonly json: readonly [1, 'string'] }>
/** What is watched. */
export type WatchRequest = ReturnType<typeof messages.watchRequest.decode>
/** What a driver is, as it says itself. */
export type DeclarationMessage = ReturnType<typeof messages.declaration.decode>

/** A call of gRPC whose messages may be written in part: what is absent has its default. */
export type Method<Request, Response> = MethodDefinition<Partial<Request>, Partial<Response>> & {
  readonly requestDeserialize: (bytes: Buffer) => Request
  readonly responseDeserialize: (bytes: Buffer) => Response
}

function method<Request, Response>(
  path: string,
  request: MessageType<Request>,
  response: MessageType<Response>,
  streams: { readonly request?: true; readonly response?: true } = {},
): Method<Request, Response> {
  return {
    path: `/osm.driver.v1.${path}`,
    requestStream: streams.request ?? false,
    responseStream: streams.response ?? false,
    requestSerialize: (value) => request.encode(value),
    requestDeserialize: (bytes) => request.decode(bytes),
    responseSerialize: (value) => response.encode(value),
    responseDeserialize: (bytes) => response.decode(bytes),
  }
}

function watch(path: string): Method<WatchRequest, Document> {
  return method(path, messages.watchRequest, messages.document, { request: true, response: true })
}

/** `osm.driver.v1.Driver`, which a driver serves. */
export const driverService = {
  Describe: method('Driver/Describe', messages.describeRequest, messages.declaration),
  Patch: method('Driver/Patch', messages.document, messages.document),
  Start: method('Driver/Start', messages.startRequest, messages.startEvent, { response: true }),
  Debug: method('Driver/Debug', messages.document, messages.document),
  Ping: method('Driver/Ping', messages.empty, messages.empty),
} as const satisfies ServiceDefinition

/** `osm.driver.v1.Host`, which the host serves for a driver that was started. */
export const hostService = {
  Authenticate: method('Host/Authenticate', messages.authenticateRequest, messages.document),
  Disconnected: method('Host/Disconnected', messages.sessionRequest, messages.empty),
  Report: method('Host/Report', messages.document, messages.empty),
  Observe: method('Host/Observe', messages.document, messages.empty),
  GetPart: method('Host/GetPart', messages.partRequest, messages.document),
  GetMeshConfig: method('Host/GetMeshConfig', messages.empty, messages.document),
  MountPage: method('Host/MountPage', messages.pageRequest, messages.empty),
  DeclareMetrics: method('Host/DeclareMetrics', messages.document, messages.empty),
  Measure: method('Host/Measure', messages.document, messages.empty),
  Log: method('Host/Log', messages.document, messages.empty),
  WatchServerCredential: watch('Host/WatchServerCredential'),
  WatchMeshConfig: watch('Host/WatchMeshConfig'),
  WatchPolicies: watch('Host/WatchPolicies'),
  WatchIdentity: watch('Host/WatchIdentity'),
  WatchCredential: watch('Host/WatchCredential'),
  WatchTrustBundles: watch('Host/WatchTrustBundles'),
  WatchEvictions: watch('Host/WatchEvictions'),
  Subscribe: watch('Host/Subscribe'),
} as const satisfies ServiceDefinition
