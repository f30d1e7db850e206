import {
  RateLimitRequestSchema,
  RateLimitResponse_Code as Code,
  RateLimitResponseSchema,
} from '@osm-ts/envoy-api/envoy/service/ratelimit/v3/rls_pb.js'

import { type GrpcServer, serveUnary } from './grpc-server.js'

/** A descriptor as the service got it: `domain key=value,key=value`. */
export type SeenDescriptor = string

/** A service that counts for many proxies: it refuses what it is told to, and remembers what it was asked. */
export interface RateLimitService extends GrpcServer {
  readonly seen: readonly SeenDescriptor[]
}

/** Starts a rate-limit service on the loopback. */
export async function startRateLimitService(
  refuses: (descriptor: SeenDescriptor) => boolean,
): Promise<RateLimitService> {
  const seen: SeenDescriptor[] = []
  const path = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'
  const types = { request: RateLimitRequestSchema, response: RateLimitResponseSchema }
  const server = await serveUnary(path, types, ({ domain, descriptors }, done) => {
    const asked = descriptors.map(
      ({ entries }) => `${domain} ${entries.map(({ key, value }) => `${key}=${value}`).join(',')}`,
    )
    seen.push(...asked)
    done({ overallCode: asked.some(refuses) ? Code.OVER_LIMIT : Code.OK })
  })
  return { ...server, seen }
}
