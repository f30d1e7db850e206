import type { TrafficRow } from '../live/traffic-log.js'
import type { FlowExpectation } from './demo-scene.js'

/** Fewer observations than these prove nothing. */
const minRequests = 3

/** Result of an expectation. */
export interface FlowResult extends FlowExpectation {
  /** Requests seen. */
  readonly requests: number
  readonly statuses: Readonly<Record<string, number>>
  readonly servers: readonly string[]
  readonly ok: boolean
  /** Why it did not hold. */
  readonly failure?: string
}

/** Holds expectations against what was observed. */
export function checkFlows(
  rows: readonly TrafficRow[],
  expectations: readonly FlowExpectation[],
): readonly FlowResult[] {
  return expectations.map((expectation) => {
    const seen = rows.filter(
      ({ client, target, path }) =>
        workloadOf(client, expectation.client) && target === expectation.target && path === expectation.path,
    )
    const statuses = addUp(seen.map((row) => row.statuses))
    const servers = Object.keys(addUp(seen.map((row) => row.servers))).sort()
    const requests = Object.values(statuses).reduce((sum, count) => sum + count, 0)
    const failure = failureOf(expectation, requests, statuses, servers)
    return {
      ...expectation,
      requests,
      statuses,
      servers,
      ok: failure === undefined,
      ...(failure !== undefined && { failure }),
    }
  })
}

/** Instances are called `<workload>` or `<workload>-<number>`. */
function workloadOf(instance: string, workload: string): boolean {
  return (
    instance === workload || (instance.startsWith(`${workload}-`) && /^\d+$/.test(instance.slice(workload.length + 1)))
  )
}

function failureOf(
  { client, target, path, outcome }: FlowExpectation,
  requests: number,
  statuses: Readonly<Record<string, number>>,
  servers: readonly string[],
): string | undefined {
  const flow = `${client} → ${target} ${path}`
  if (requests < minRequests) return `${flow}: ${requests} requests were seen, too few for a result`
  const got = Object.entries(statuses)
    .map(([status, count]) => `${status === '0' ? 'no answer' : status} × ${count}`)
    .join(', ')
  const all = (holds: (status: number) => boolean): boolean =>
    Object.keys(statuses).every((status) => holds(Number(status)))
  switch (outcome) {
    case 'allowed':
      return all((status) => status === 200) ? undefined : `${flow}: should always be answered 200; got ${got}`
    case 'denied':
      return all((status) => status === 403) && servers.length === 0
        ? undefined
        : `${flow}: should always be answered 403 by a sidecar; got ${got}${answeredBy(servers)}`
    case 'unreachable':
      return all((status) => status < 200 || status > 299) && servers.length === 0
        ? undefined
        : `${flow}: should never reach a server; got ${got}${answeredBy(servers)}`
  }
}

function answeredBy(servers: readonly string[]): string {
  return servers.length === 0 ? '' : `, answered by ${servers.join(', ')}`
}

function addUp(counts: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const sum = new Map<string, number>()
  for (const [key, count] of counts.flatMap((each) => Object.entries(each))) sum.set(key, (sum.get(key) ?? 0) + count)
  return Object.fromEntries(sum)
}
