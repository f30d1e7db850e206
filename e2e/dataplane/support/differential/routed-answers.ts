import type { Verdict } from '@osm-ts/oracle'

import { arrivalsFault, arrivalsOf, expectedArrivals } from './arrivals.js'
import type { Outcome } from './differential-mesh.js'
import { disagreement } from './disagreement.js'
import type { Attempt } from './random-policy.js'
import { HTTP_PORT } from './topology.js'

/** Headers that random routes change. */
const CHANGED = ['x-user', 'x-role', 'x-added']

/** For copies, which arrive when they do. A request whose copies do not is sent again, like one that is answered otherwise than expected. */
const COPIES_FOR_MS = 5000

/** What sidecars did otherwise than the oracle says of a request or a connection that routes may be about; undefined if they agree. */
export async function routingFault(verdict: Verdict, outcome: Outcome, attempt: Attempt): Promise<string | undefined> {
  return answerFault(verdict, outcome, attempt) ?? (await arrivalFaults(verdict, outcome))
}

/** What is wrong with how often a request arrives: attempts and copies. */
async function arrivalFaults(verdict: Verdict, outcome: Outcome): Promise<string | undefined> {
  const { mark } = outcome
  if (mark === undefined || verdict.answers === undefined) return undefined
  const expected = expectedArrivals(verdict, outcome)
  const deadline = performance.now() + COPIES_FOR_MS
  for (;;) {
    const found = await arrivalsOf(mark)
    const fault = arrivalsFault(found, expected)
    if (fault !== undefined || found.length >= expected.least) return fault
    if (performance.now() > deadline)
      return `the request arrives ${found.length} times: ${found.join(', ')}, and not ${expected.least} times`
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

function answerFault(verdict: Verdict, outcome: Outcome, attempt: Attempt): string | undefined {
  const { destinations, answers } = verdict
  if (answers === undefined) return disagreement(verdict, outcome)
  if (outcome.passed) {
    const faults = destinations
      .filter(({ allowed, account }) => allowed && `${account.namespace}/${account.name}` === outcome.server)
      .map((destination) => arrivalFault(destination, outcome, attempt))
    if (faults.length === 0) return `the sidecars let in to ${outcome.server} what the oracle does not`
    return faults.includes(undefined) ? undefined : faults.join('; or ')
  }
  // Where some are refused, chance decides between them and the answers of the caller's sidecar.
  if (destinations.some(({ allowed }) => !allowed)) return undefined
  if (attempt.kind === 'tcp') return answers.length > 0 ? undefined : 'the connection is closed, and no route says so'
  const isAnswer = answers.some(
    ({ status, location }) => isAnswered(outcome, status) && sameUrl(location, outcome.location),
  )
  return isAnswer
    ? undefined
    : `the sidecar answers ${outcome.status} ${outcome.location ?? ''}, not ${JSON.stringify(answers)}`
}

/** What is wrong with a request as a server got it. */
function arrivalFault(
  { routed, removedHeaders = [] }: Verdict['destinations'][number],
  outcome: Extract<Outcome, { readonly passed: true }>,
  { kind, to }: Attempt,
): string | undefined {
  if (kind === 'tcp') return undefined
  const { path, headers = {} } = outcome
  if (routed === undefined) return 'the oracle knows of no route'
  if (path !== routed.target) return `the server sees ${path ?? ''}, not ${routed.target}`
  const [namespace = '', name = ''] = to.split('/')
  const host = routed.host ?? `${name}.${namespace}:${HTTP_PORT}`
  if (headers.host !== host) return `the server sees the host ${headers.host ?? ''}, not ${host}`
  const wrong = CHANGED.filter(
    (each) => plain(headers[each]) !== (removedHeaders.includes(each) ? undefined : plain(routed.headers[each])),
  ).map((each) => `${each}: ${headers[each] ?? 'nothing'}, not ${routed.headers[each] ?? 'nothing'}`)
  return wrong.length === 0 ? undefined : `the server sees ${wrong.join(', ')}`
}

/** What clients of gRPC take a status of HTTP for, where it is not UNKNOWN. */
const grpcStatuses: ReadonlyMap<number | 'closed', number> = new Map([
  [404, 12],
  [503, 14],
])
const UNKNOWN = 2

/** Sidecars may answer a call by either kind of status, whichever kind of route says so. A redirect is UNKNOWN too: clients of gRPC do not follow it. */
function isAnswered(
  { status, grpcStatus }: Extract<Outcome, { readonly passed: false }>,
  expected: number | 'closed',
): boolean {
  return status === 200 && grpcStatus !== undefined
    ? grpcStatus === (grpcStatuses.get(expected) ?? UNKNOWN)
    : status === expected
}

/** Values of a header without the spaces between them, which are not prescribed. */
function plain(values: string | undefined): string | undefined {
  return values
    ?.split(',')
    .map((each) => each.trim())
    .join(',')
}

/** A port that goes without saying may be said. */
function sameUrl(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return new URL(a).href === new URL(b).href
}
