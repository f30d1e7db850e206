import type { Verdict } from '@osm-ts/oracle'

import type { Outcome } from './bed.js'

/** What Envoy did otherwise than the oracle says; undefined if they agree. */
export function disagreement(verdict: Verdict, outcome: Outcome): string | undefined {
  if (!outcome.passed)
    return verdict.outcome === 'allow' ? `Envoy refuses (${outcome.status}) what the oracle allows` : undefined
  const { server, path } = outcome
  const isAllowed = verdict.destinations.some(
    ({ allowed, account }) => allowed && `${account.namespace}/${account.name}` === server,
  )
  if (!isAllowed) return `Envoy lets in to ${server} what the oracle does not`
  return path === undefined || path === verdict.target
    ? undefined
    : `the server sees ${path}, not ${verdict.target ?? ''}`
}
