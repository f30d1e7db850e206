import type { RoutedPathMatch } from '@osm-ts/driver-api/policy'

import type { GRPCRouteMatch } from '../../../spec/index.js'
import { patternFault } from '../problems/pattern.js'
import { headerConditions, type RoutedRequests } from './route-conditions.js'
import type { RuleFaults } from './rule-faults.js'

type MethodMatch = NonNullable<GRPCRouteMatch['method']>

/**
 * The conditions of a match in the terms of the policy; undefined if one cannot be used: without it the match would hold for more calls than was written
 * down. A call is a request whose path is `/<service>/<method>`.
 */
export function grpcConditions(source: GRPCRouteMatch, field: string, faults: RuleFaults): RoutedRequests | undefined {
  const before = faults.count
  const { method } = source
  const path = method === undefined ? undefined : pathOf(method, `${field}.method`, faults)
  const headers = headerConditions(source.headers, `${field}.headers`, faults)
  if (faults.count > before) return undefined
  return {
    match: { ...(path === undefined ? {} : { path }), ...(headers.length === 0 ? {} : { headers }) },
    // The longest service, then the longest method, then the most headers.
    rank: [(method?.service ?? '').length, (method?.method ?? '').length, headers.length],
  }
}

const namePatterns = {
  service: /^\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*$/i,
  method: /^[a-z_][a-z_0-9]*$/i,
} as const

/** Any service, or any method. */
const ANY = '[^/]+'

function pathOf(source: MethodMatch, field: string, faults: RuleFaults): RoutedPathMatch | undefined {
  const { type, service = '', method = '' } = source
  if (service === '' && method === '') {
    faults.add('OSM_SPEC_ROUTE_VALUE', field, 'must name a service or a method')
    return undefined
  }
  if (type === 'RegularExpression') return patternOf(service, method, field, faults)
  for (const [name, text] of [['service', service] as const, ['method', method] as const])
    if (text !== '' && !namePatterns[name].test(text))
      faults.add('OSM_SPEC_ROUTE_VALUE', `${field}.${name}`, `${JSON.stringify(text)} is not a name of a gRPC ${name}`)
  if (service === '') return { type: 'regex', value: `/${ANY}/${method}` }
  return method === '' ? { type: 'segments', value: `/${service}` } : { type: 'exact', value: `/${service}/${method}` }
}

function patternOf(service: string, method: string, field: string, faults: RuleFaults): RoutedPathMatch | undefined {
  const before = faults.count
  for (const [name, pattern] of Object.entries({ service, method })) {
    const fault = patternFault(pattern)
    if (fault !== undefined) faults.add('OSM_SPEC_REGEX', `${field}.${name}`, fault)
    // Both become parts of one expression, in which an anchor would match no call.
    else if (hasAnchor(pattern))
      faults.add('OSM_SPEC_REGEX', `${field}.${name}`, `must have no ^ or $: it matches the whole ${name} anyway`)
  }
  if (faults.count > before) return undefined
  const value = `/${part(service)}/${part(method)}`
  const fault = patternFault(value)
  if (fault === undefined) return { type: 'regex', value }
  faults.add('OSM_SPEC_REGEX', field, `as one expression for the path, it ${fault}`)
  return undefined
}

/** Only alternatives need a group of their own, and some classes take few groups. */
function part(pattern: string): string {
  if (pattern === '') return ANY
  return pattern.includes('|') ? `(?:${pattern})` : pattern
}

/** True if an expression names the beginning or the end of a text outside of a class of characters. */
function hasAnchor(pattern: string): boolean {
  return /\\[Az]|[$^]/.test(pattern.replaceAll(/\\[^Az]|\[\^?\]?[^\]]*\]/g, ''))
}
