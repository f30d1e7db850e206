import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js'

import type { MessageType } from './message.js'
import { messages } from './messages.js'

/** Content of a message by its name in `messages`. */
export type Message<Name extends keyof typeof messages> = ReturnType<(typeof messages)[Name]['decode']>

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

function watch<Item>(path: string, item: MessageType<Item>): Method<Message<'watchRequest'>, Item> {
  return method(path, messages.watchRequest, item, { request: true, response: true })
}

/** `osm.driver.v1.Driver`, which a driver serves. */
export const driverService = {
  Describe: method('Driver/Describe', messages.describeRequest, messages.declaration),
  Patch: method('Driver/Patch', messages.patchRequest, messages.patchResponse),
  Start: method('Driver/Start', messages.startRequest, messages.startEvent, { response: true }),
  Debug: method('Driver/Debug', messages.debugRequest, messages.debugResponse),
  Ping: method('Driver/Ping', messages.empty, messages.empty),
} as const satisfies ServiceDefinition

/** `osm.driver.v1.Host`, which the host serves for a driver that was started. */
export const hostService = {
  Authenticate: method('Host/Authenticate', messages.authenticateRequest, messages.proxyRef),
  Disconnected: method('Host/Disconnected', messages.sessionRequest, messages.empty),
  Report: method('Host/Report', messages.applyReport, messages.empty),
  Observe: method('Host/Observe', messages.proxyObservation, messages.empty),
  GetPart: method('Host/GetPart', messages.partRequest, messages.partResponse),
  GetMeshConfig: method('Host/GetMeshConfig', messages.empty, messages.meshConfig),
  MountPage: method('Host/MountPage', messages.pageRequest, messages.empty),
  DeclareMetrics: method('Host/DeclareMetrics', messages.metricDeclarations, messages.empty),
  Measure: method('Host/Measure', messages.measurements, messages.empty),
  Log: method('Host/Log', messages.logEntries, messages.empty),
  WatchServerCredential: watch('Host/WatchServerCredential', messages.serverTrust),
  WatchMeshConfig: watch('Host/WatchMeshConfig', messages.meshConfig),
  WatchPolicies: watch('Host/WatchPolicies', messages.policyUpdate),
  WatchIdentity: watch('Host/WatchIdentity', messages.credential),
  WatchCredential: watch('Host/WatchCredential', messages.credential),
  WatchTrustBundles: watch('Host/WatchTrustBundles', messages.trustBundle),
  WatchEvictions: watch('Host/WatchEvictions', messages.eviction),
  Subscribe: watch('Host/Subscribe', messages.brokerMessage),
} as const satisfies ServiceDefinition
