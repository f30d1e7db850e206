import type { Verdict } from '@osm-ts/oracle'

import type { Outcome } from './differential-mesh.js'

/** What a sidecar did otherwise than the oracle says; undefined if they agree. */
export function disagreement(verdict: Verdict, outcome: Outcome): string | undefined {
  if (!outcome.passed)
    return verdict.outcome === 'allow' ? `the sidecar refuses (${outcome.status}) what the oracle allows` : undefined
  const { server, path, headers = {} } = outcome
  const destination = verdict.destinations.find(
    ({ allowed, account }) => allowed && `${account.namespace}/${account.name}` === server,
  )
  if (destination === undefined) return `the sidecar lets in to ${server} what the oracle does not`
  const leaked = (destination.removedHeaders ?? []).find((name) => Object.hasOwn(headers, name))
  if (leaked !== undefined) return `the server sees the header ${leaked}`
  return path === undefined || path === verdict.target || !destination.hasSidecar
    ? undefined
    : `the server sees ${path}, not ${verdict.target ?? ''}`
}
