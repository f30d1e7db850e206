import type { TopologyEdge, TrafficEdge } from './api.js'

/** Requests along an arrow. */
export type ArrowTraffic = Pick<TrafficEdge, 'perSecond' | 'success' | 'p99Ms'>

/** Traffic along arrows, which start and end at workloads and services, or at the namespaces of these in a picture by namespace. */
export function trafficOn(
  traffic: readonly TrafficEdge[],
): (edge: Pick<TopologyEdge, 'from' | 'to' | 'kind'>) => ArrowTraffic | undefined {
  const sums = new Map<string, ArrowTraffic>()
  for (const { from, to, ...more } of traffic)
    for (const key of [`${from}\0${to}`, `${namespaceOf(from)}\0${namespaceOf(to)}`])
      sums.set(key, add(sums.get(key), more))
  return ({ from, to, kind }) => (kind === 'access' ? sums.get(`${from}\0${to}`) : undefined)
}

/** As a short text: `12.3/s, 99 % success, p99 5 ms`. */
export function trafficText({ perSecond, success, p99Ms }: ArrowTraffic): string {
  const words = [rateText(perSecond), `${(success * 100).toFixed(success === 1 ? 0 : 1)} % success`]
  return p99Ms === undefined ? words.join(', ') : [...words, `p99 ${p99Ms.toFixed(p99Ms < 10 ? 1 : 0)} ms`].join(', ')
}

/** Requests per second, with as many digits as are of use. */
export function rateText(perSecond: number): string {
  return `${perSecond.toFixed(perSecond < 10 ? 1 : 0)}/s`
}

/** The slowest of the two stands for both: quantiles do not add up. */
function add(one: ArrowTraffic | undefined, other: ArrowTraffic): ArrowTraffic {
  if (one === undefined) return other
  const perSecond = one.perSecond + other.perSecond
  const success = (one.success * one.perSecond + other.success * other.perSecond) / perSecond
  const p99Ms = Math.max(one.p99Ms ?? -1, other.p99Ms ?? -1)
  return { perSecond, success, ...(p99Ms >= 0 && { p99Ms }) }
}

/** Id of the box of the namespace in which a node is. */
function namespaceOf(id: string): string {
  const [, name = ''] = id.split(' ')
  return `namespace ${name.split('/')[0] ?? ''}`
}
