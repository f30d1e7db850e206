import type { ProblemList } from './problems.js'

/*
 * Some objects have two lists and apply to every pair of their items: an Egress opens each host on each port, a TrafficTarget allows each request from each
 * source. An object of a few kilobytes can have millions of pairs. Their number is computed from the lengths of the lists, before any pair is created.
 */

/** Maximum number of pairs of one object. */
export const objectCombinations = Object.freeze({
  /** Destinations of an Egress times the requests that it allows. */
  egress: 1_000,
  /** Routes of a TrafficTarget times its sources and TCPRoutes. */
  trafficTarget: 10_000,
  /** Backends of an IngressBackend or AccessControl times its sources, names and requests. */
  access: 50_000,
  /** Backends of a TrafficSplit times the requests that it applies to and the ports of its apex. */
  trafficSplit: 10_000,
  /** Matches of a route of the Gateway API times their backends and the ports that it is attached to; long texts count more. */
  gatewayRoute: 10_000,
})

/** Maximum number of pairs of all objects that concern one account or one service. */
export const combinationsInAll = Object.freeze({
  /** For each source of Egress objects. */
  egress: 1_000,
  /** For each destination of TrafficTargets. */
  trafficTarget: 20_000,
  /** For each apex of TrafficSplits. */
  trafficSplit: 20_000,
  /** For each service, of routes of the Gateway API of one kind. */
  gatewayRoutes: 20_000,
})

/** Maximum number of matches, or server names, of routes of the Gateway API at one port of a service. */
export const MAX_PORT_ROUTES = 2_000

/** Maximum number of ports of a Service. Each sidecar that may call the Service receives all of them. */
export const MAX_SERVICE_PORTS = 1_000

/** Maximum number of backends of an IngressBackend or AccessControl. */
export const MAX_ACCESS_BACKENDS = 1_000

/** Reports that an object exceeds a limit. The object has no effect. */
export function reportTooMany(
  problems: ProblemList,
  field: string,
  what: string,
  limit: number,
  remedy = 'divide the object',
): void {
  problems.error('OSM_SPEC_OBJECT_BOUND', field, `${what}; at most ${limit} are accepted: ${remedy}`)
}
