import {
  compareText,
  type HeaderMatch,
  type RoutedPathMatch,
  type QueryMatch,
  type OutboundMatch,
} from '@osm-ts/driver-api/policy'

import { isMatchedHeaderName, type HTTPRouteMatch } from '../../../spec/index.js'
import { patternFault } from '../problems/pattern.js'
import { httpRank, type Rank } from './route-order.js'
import type { RuleFaults } from './rule-faults.js'

type ValueMatch = NonNullable<HTTPRouteMatch['headers']>[number]

/** Requests of a rule, and their place among those of other rules. */
export interface RoutedRequests {
  readonly match: OutboundMatch
  readonly rank: Rank
}

/**
 * The conditions of a match in the terms of the policy; undefined if one cannot be used: without it the match would hold for more requests than was
 * written down.
 */
export function routeConditions(source: HTTPRouteMatch, field: string, faults: RuleFaults): RoutedRequests | undefined {
  const before = faults.count
  const path = pathCondition(source.path, `${field}.path`, faults)
  const headers = headerConditions(source.headers, `${field}.headers`, faults)
  const queryParameters = valueConditions(source.queryParams, `${field}.queryParams`, faults, false)
  if (faults.count > before) return undefined
  const match: OutboundMatch = {
    ...(path === undefined ? {} : { path }),
    ...(source.method === undefined ? {} : { methods: [source.method] }),
    ...(headers.length === 0 ? {} : { headers }),
    ...(queryParameters.length === 0 ? {} : { queryParameters }),
  }
  return { match, rank: httpRank(match) }
}

/** Conditions on headers. */
export function headerConditions(
  sources: readonly ValueMatch[] | undefined,
  field: string,
  faults: RuleFaults,
): readonly HeaderMatch[] {
  return valueConditions(sources, field, faults, true).map(({ name, match }): HeaderMatch => ({ name, match }))
}

function pathCondition(path: HTTPRouteMatch['path'], field: string, faults: RuleFaults): RoutedPathMatch | undefined {
  if (path === undefined) return undefined
  const { type, value } = path
  if (type === 'RegularExpression') {
    checkPattern(value, `${field}.value`, faults)
    if (value === '') faults.add('OSM_SPEC_REGEX', `${field}.value`, 'is empty and matches no path')
    return { type: 'regex', value }
  }
  if (!value.startsWith('/')) {
    faults.add('OSM_SPEC_ROUTE_VALUE', `${field}.value`, `must begin with a slash, not ${JSON.stringify(value)}`)
    return undefined
  }
  if (type === 'Exact') return { type: 'exact', value }
  const segments = value.replace(/\/+$/, '')
  return segments === '' ? undefined : { type: 'segments', value: segments }
}

/** Of equal names the first holds. */
function valueConditions(
  sources: readonly ValueMatch[] = [],
  field: string,
  faults: RuleFaults,
  areHeaders: boolean,
): readonly QueryMatch[] {
  const found = new Map<string, QueryMatch>()
  for (const [index, { type, name, value }] of sources.entries()) {
    const place = `${field}[${index}]`
    const key = areHeaders ? name.toLowerCase() : name
    if (found.has(key)) continue
    if (areHeaders && !isMatchedHeaderName(name))
      faults.add('OSM_SPEC_HEADER', `${place}.name`, `${JSON.stringify(name)} is not a header name`)
    if (type === 'RegularExpression') checkPattern(value, `${place}.value`, faults)
    // Proxies take no empty expression, which matches the empty value alone.
    found.set(key, { name: key, match: { type: type === 'Exact' || value === '' ? 'exact' : 'regex', value } })
  }
  return [...found.values()].sort((a, b) => compareText(a.name, b.name))
}

function checkPattern(pattern: string, field: string, faults: RuleFaults): void {
  const fault = patternFault(pattern)
  if (fault !== undefined) faults.add('OSM_SPEC_REGEX', field, fault)
}
