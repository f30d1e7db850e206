import type { ShownProxy, TrafficEdge } from '@osm-ts/dashboard'
import { isRecord } from '@osm-ts/driver-api/toolkit'

import { cliError } from '../errors.js'
import { accountOfIdentity } from './topology.js'
import { quantile } from './traffic-rates.js'

const TIMEOUT_MS = 10_000
/** Longest answer that is read. */
const MAX_BYTES = 32 * 1024 * 1024

/** Recording rules of the chart. */
const byPod = 'source_namespace, source_pod_name, upstream'
const requests = `sum by (${byPod}, response_class) (pod_upstream:osm_requests:rate1m > 0)`
const durations = `sum by (${byPod}, le) (pod_upstream:osm_request_duration_ms_bucket:rate1m > 0)`

/** Whose traffic is meant. */
type AskedProxy = Pick<ShownProxy, 'name' | 'identity'>

interface Series {
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

/**
 * Reads the traffic of a mesh from a Prometheus that has the recording rules of the chart, for meshes of any size.
 *
 * @param base - URL of the Prometheus
 * @throws OsmError `OSM_CLI_UNREACHABLE` if it does not answer
 */
export async function prometheusTraffic(
  base: URL,
  signal: AbortSignal,
): Promise<(proxies: readonly AskedProxy[]) => Promise<readonly TrafficEdge[]>> {
  await query(base, 'vector(1)', signal)
  return async (proxies) => {
    const [rates, buckets] = await Promise.all([query(base, requests, signal), query(base, durations, signal)])
    return edgesOf(proxies, rates, buckets)
  }
}

interface Sum extends Pick<TrafficEdge, 'from' | 'to'> {
  perSecond: number
  failed: number
  readonly durations: Map<number, number>
}

function edgesOf(
  proxies: readonly AskedProxy[],
  rates: readonly Series[],
  buckets: readonly Series[],
): readonly TrafficEdge[] {
  const workloads = new Map(proxies.map(({ name, identity }) => [name, accountOfIdentity(identity) ?? name]))
  const sums = new Map<string, Sum>()
  const sumOf = ({ labels }: Series): Sum | undefined => {
    const workload = workloads.get(`${labels.get('source_namespace') ?? ''}/${labels.get('source_pod_name') ?? ''}`)
    const [service] = (labels.get('upstream') ?? '').split('|')
    // Pods of other meshes, and pods that have ended since, are in the same Prometheus.
    if (workload === undefined || !service) return undefined
    const [from, to] = [`workload ${workload}`, `service ${service}`]
    const key = `${from}\0${to}`
    const sum = sums.get(key) ?? { from, to, perSecond: 0, failed: 0, durations: new Map<number, number>() }
    sums.set(key, sum)
    return sum
  }
  for (const series of rates) {
    const sum = sumOf(series)
    if (sum === undefined) continue
    sum.perSecond += series.value
    if (series.labels.get('response_class') === '5') sum.failed += series.value
  }
  for (const series of buckets) {
    const le = series.labels.get('le')
    const bound = le === '+Inf' ? Infinity : Number(le)
    const sum = sumOf(series)
    sum?.durations.set(bound, (sum.durations.get(bound) ?? 0) + series.value)
  }
  return [...sums.values()]
    .filter(({ perSecond }) => perSecond > 0)
    .map(({ from, to, perSecond, failed, durations: counts }) => {
      const p99Ms = quantile(counts)
      return { from, to, perSecond, success: 1 - failed / perSecond, ...(p99Ms !== undefined && { p99Ms }) }
    })
}

/** The series that an expression has now. */
async function query(base: URL, expression: string, signal: AbortSignal): Promise<readonly Series[]> {
  const url = new URL(`${base.pathname.replace(/\/$/, '')}/api/v1/query`, base)
  url.searchParams.set('query', expression)
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    const answer = await fetch(url, { signal: limit, redirect: 'error' })
    const text = await readBounded(answer)
    if (!answer.ok) throw new Error(`status ${answer.status}: ${text.slice(0, 200)}`)
    return readSeries(JSON.parse(text))
  } catch (error) {
    throw cliError(
      'OSM_CLI_UNREACHABLE',
      `the Prometheus at ${base.host} did not answer a query: ${reasonOf(error)}`,
      'give the URL below which it has /api/v1, such as http://127.0.0.1:9090',
      error,
    )
  }
}

/** What `fetch` rejects with says why in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}

async function readBounded(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`the answer has more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The instant vector of an answer. What has another form is none. */
function readSeries(answer: unknown): readonly Series[] {
  const data = isRecord(answer) ? answer['data'] : undefined
  if (!isRecord(data) || data['resultType'] !== 'vector' || !Array.isArray(data['result']))
    throw new Error('the answer is not an instant vector of Prometheus')
  return data['result'].flatMap((series: unknown): Series[] => {
    const [metric, pair] = isRecord(series) ? [series['metric'], series['value']] : []
    const value = Array.isArray(pair) ? Number(pair[1]) : NaN
    if (!isRecord(metric) || !Number.isFinite(value)) return []
    const labels = Object.entries(metric).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    return [{ labels: new Map(labels), value }]
  })
}
