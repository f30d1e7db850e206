import type { ServiceDefinition } from '@grpc/grpc-js'

const identity = (octets: Buffer): Buffer => octets

/** Delta ADS as bytes: a server that knows nothing of what it carries. */
export const rawDeltaAds: ServiceDefinition = {
  DeltaAggregatedResources: {
    path: '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
    requestStream: true,
    responseStream: true,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  },
}
