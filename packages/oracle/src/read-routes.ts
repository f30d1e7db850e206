import { readGrpcRoute } from './grpc-route.js'
import { readHttpRoute } from './http-route-match.js'
import type { Known, Objects, ServicePort } from './objects.js'
import { nearest, type RequestRoute } from './request-routes.js'
import { readsRequests } from './services.js'

/** All routes of requests, by kind and name. */
export function requestRoutes(objects: Objects): readonly RequestRoute[] {
  return [...objects.list('GRPCRoute').map(readGrpcRoute), ...objects.list('HTTPRoute').map(readHttpRoute)]
}

/**
 * Routes of a port for callers of a namespace: their own, if they have some, else those of the namespace of the service. Of two kinds GRPCRoutes hold. None
 * where the port does not speak HTTP.
 */
export function routesAt(
  objects: Objects,
  callers: string,
  service: Known<'Service'>,
  port: ServicePort,
): readonly RequestRoute[] {
  if (!readsRequests(port)) return []
  const found = nearest(requestRoutes(objects), callers, service, port)
  const calls = found.filter(({ kind }) => kind === 'GRPCRoute')
  return calls.length > 0 ? calls : found
}
