import type { Verdict } from '@osm-ts/oracle'

import type { Outcome } from './differential-mesh.js'
import { disagreement } from './disagreement.js'
import type { Attempt } from './random-policy.js'
import { HTTP_PORT } from './topology.js'

/** Headers that random routes change. */
const CHANGED = ['x-user', 'x-role', 'x-added']

/** What sidecars did otherwise than the oracle says of a request that HTTPRoutes may be about; undefined if they agree. */
export function routingFault(verdict: Verdict, outcome: Outcome, attempt: Attempt): string | undefined {
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
  const isAnswer = answers.some(
    ({ status, location }) => status === outcome.status && sameUrl(location, outcome.location),
  )
  return isAnswer
    ? undefined
    : `the sidecar answers ${outcome.status} ${outcome.location ?? ''}, not ${JSON.stringify(answers)}`
}

/** What is wrong with a request as a server got it. */
function arrivalFault(
  { routed, removedHeaders = [] }: Verdict['destinations'][number],
  outcome: Extract<Outcome, { readonly passed: true }>,
  { to }: Attempt,
): string | undefined {
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
