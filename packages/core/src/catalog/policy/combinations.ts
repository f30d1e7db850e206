import type { ProblemList } from './problems.js'

/*
 * Some objects say two lists and mean every pair: an Egress each host on each port, a TrafficTarget each request by each source. So an object of some kilobytes
 * may stand for millions of pairs. Their number is computed from the lengths of the lists, before any of them is made.
 */

/** Pairs that one object may stand for, by what it pairs. */
export const objectCombinations = Object.freeze({
  /** Destinations of an Egress, with each kind of request that it lets out there. */
  egress: 1_000,
  /** Requests that a TrafficTarget allows, with each of its sources and TCPRoutes. */
  trafficTarget: 10_000,
  /** Backends of an IngressBackend or AccessControl, with each source, name and kind of request. */
  access: 50_000,
  /** Backends of a TrafficSplit, with each kind of request that it is for. */
  trafficSplit: 10_000,
})

/** Pairs that all objects together may stand for towards one account, or one service. */
export const combinationsInAll = Object.freeze({
  /** For each account that Egress objects let out. */
  egress: 1_000,
  /** For each account that TrafficTargets open. */
  trafficTarget: 20_000,
  /** For each service that TrafficSplits share out. */
  trafficSplit: 20_000,
})

/** Ports of one Service. Every sidecar that may call the Service is told each of them. */
export const MAX_SERVICE_PORTS = 1_000

/** Backends of one IngressBackend or AccessControl. */
export const MAX_ACCESS_BACKENDS = 1_000

/** Says that an object stands for more pairs than are taken, which leaves it without effect. */
export function reportTooMany(problems: ProblemList, field: string, what: string, limit: number): void {
  problems.error('OSM_SPEC_OBJECT_BOUND', field, `${what}; at most ${limit} are taken: divide the object`)
}
