import type { EgressPart } from '@osm-ts/driver-api/policy'

/*
 * Drain epochs are kept by the id of a served port, see `DrainEpochs`. Ways out of the mesh have the ids below. Ids of served ports have a slash, so that
 * none is the same.
 */

/**
 * Explicit mode: the forward proxy, through which all HTTP of a workload goes. Streams to services of the mesh end with those to the host that is no longer
 * opened, as streams of other callers do at a served port.
 */
export const FORWARD_PROXY_DRAIN = 'egress'

/**
 * Transparent mode: what is opened on a port. Connections of `http` are for any host of the port, and those of `tcp` for any range; each host of `https` has
 * a chain of its own, which goes when the host is no longer opened.
 */
export function egressDrainId({ protocol, port }: Pick<EgressPart, 'protocol' | 'port'>): string {
  return `egress.${protocol}.${port}`
}

/** What the names of route configurations start with that contain nothing but ways out; a port follows. */
export const EGRESS_ROUTES_PREFIX = 'rds-egress.'

/** The id for the ways out in a route configuration; undefined if it contains others as well, or none. */
export function egressDrainIdOfRoutes(name: string): string | undefined {
  if (!name.startsWith(EGRESS_ROUTES_PREFIX)) return undefined
  return egressDrainId({ protocol: 'http', port: Number(name.slice(EGRESS_ROUTES_PREFIX.length)) })
}
