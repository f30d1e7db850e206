import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { Server, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js'
import {
  RateLimitRequestSchema,
  RateLimitResponse_Code as Code,
  RateLimitResponseSchema,
  type RateLimitRequest,
  type RateLimitResponse,
} from '@osm-ts/envoy-api/envoy/service/ratelimit/v3/rls_pb.js'

import { grpcPort } from './grpc-port.js'

/** A descriptor as the service got it: `domain key=value,key=value`. */
export type SeenDescriptor = string

/** A service that counts for many proxies: it refuses what it is told to, and remembers what it was asked. */
export interface RateLimitService {
  readonly port: number
  readonly seen: readonly SeenDescriptor[]
  readonly stop: () => void
}

/** Starts a rate-limit service on the loopback. */
export async function startRateLimitService(
  refuses: (descriptor: SeenDescriptor) => boolean,
): Promise<RateLimitService> {
  const seen: SeenDescriptor[] = []
  const server = new Server()
  const answer = (
    call: ServerUnaryCall<RateLimitRequest, RateLimitResponse>,
    done: sendUnaryData<RateLimitResponse>,
  ) => {
    const { domain, descriptors } = call.request
    const asked = descriptors.map(
      ({ entries }) => `${domain} ${entries.map(({ key, value }) => `${key}=${value}`).join(',')}`,
    )
    seen.push(...asked)
    done(null, create(RateLimitResponseSchema, { overallCode: asked.some(refuses) ? Code.OVER_LIMIT : Code.OK }))
  }
  server.addService(
    {
      shouldRateLimit: {
        path: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
        requestStream: false,
        responseStream: false,
        requestSerialize: (message: RateLimitRequest) => Buffer.from(toBinary(RateLimitRequestSchema, message)),
        requestDeserialize: (bytes: Buffer) => fromBinary(RateLimitRequestSchema, bytes),
        responseSerialize: (message: RateLimitResponse) => Buffer.from(toBinary(RateLimitResponseSchema, message)),
        responseDeserialize: (bytes: Buffer) => fromBinary(RateLimitResponseSchema, bytes),
      },
    },
    { shouldRateLimit: answer },
  )
  const port = await grpcPort(server)
  return {
    port,
    seen,
    stop: () => {
      server.forceShutdown()
    },
  }
}
