/** What a sidecar has counted of the requests to one service since its start. */
export interface ServiceCounters {
  requests: number
  /** Answered with a status of 500 or more. */
  failed: number
  /** Requests that took at most so many milliseconds, by that bound. Empty for classes that measure no durations. */
  readonly durations: Map<number, number>
}

/** Metrics that are read: of class envoy, with another first word those of class pipy, and those of HAProxy. */
const sample =
  /^(?:(?:envoy|sidecar)_cluster_upstream_rq_(xx|time_bucket)|(haproxy_backend_http_responses_total))\{([^}]*)\} ([0-9.e+]+)$/
const label = /(\w+)="([^"]*)"/g
/** An upstream in the mesh: `<namespace>/<service>|<port>`. */
const meshUpstream = /^([^/|]+\/[^/|]+)\|\d+$/
/** The same as the name of a section of HAProxy. */
const haproxyUpstream = /^up:([^:]+):(.+)_7c_\d+$/

/** Reads the counters of a page of metrics in the text format of Prometheus, by `<namespace>/<service>`. */
export function readServiceCounters(page: string): ReadonlyMap<string, ServiceCounters> {
  const found = new Map<string, ServiceCounters>()
  for (const line of page.split('\n')) {
    const [match, metric, , text = '', value = ''] = sample.exec(line) ?? []
    if (match === undefined) continue
    const labels = new Map([...text.matchAll(label)].map(([, name = '', content = '']) => [name, content]))
    const labelOf = (name: string): string => labels.get(`envoy_${name}`) ?? labels.get(`sidecar_${name}`) ?? ''
    const service = meshUpstream.exec(labelOf('cluster_name'))?.[1] ?? haproxyService(labels.get('proxy'))
    if (service === undefined) continue
    const counters = found.get(service) ?? { requests: 0, failed: 0, durations: new Map<number, number>() }
    found.set(service, counters)
    const count = Number(value)
    if (metric !== 'time_bucket') {
      counters.requests += count
      if (labelOf('response_code_class') === '5' || labels.get('code') === '5xx') counters.failed += count
    } else {
      const bound = labels.get('le') === '+Inf' ? Infinity : Number(labels.get('le'))
      counters.durations.set(bound, (counters.durations.get(bound) ?? 0) + count)
    }
  }
  return found
}

function haproxyService(section = ''): string | undefined {
  const [, namespace, name] = haproxyUpstream.exec(section) ?? []
  return namespace === undefined ? undefined : `${namespace}/${name}`
}
