import {
  compareText,
  type HeaderChanges,
  isIdentityHeader,
  isOrderHeader,
  type OutboundRoute,
  type PathChange,
  type RouteRedirect,
  type RouteRewrite,
} from '@osm-ts/driver-api/policy'

import { isDnsSubdomain } from '../../../identity/index.js'
import { isHeaderName, type HTTPRouteFilter, type HTTPRouteMatch } from '../../../spec/index.js'
import type { RuleFaults } from './rule-faults.js'

/** What the filters of a rule do, except for copies, whose destination is looked up elsewhere. */
export type FilterChanges = Pick<OutboundRoute, 'requestHeaders' | 'responseHeaders' | 'redirect' | 'rewrite'>

/** A filter that sends copies, with its place. */
export interface MirrorFilter {
  readonly mirror: NonNullable<HTTPRouteFilter['requestMirror']>
  readonly field: string
}

/** Filters in the terms of the policy. */
export interface TranslatedFilters {
  readonly changes: FilterChanges
  readonly mirrors: readonly MirrorFilter[]
}

/** Where filters are written down. */
export interface FilterPlace {
  readonly field: string
  /** What the place takes; others are reported with `otherwise`. */
  readonly types: ReadonlySet<FilterType>
  readonly otherwise: string
  /** Conditions of the rule, for changes of paths. */
  readonly matches?: readonly HTTPRouteMatch[]
}

/** Members by which each type says what it does. */
const members = {
  RequestHeaderModifier: 'requestHeaderModifier',
  ResponseHeaderModifier: 'responseHeaderModifier',
  RequestRedirect: 'requestRedirect',
  URLRewrite: 'urlRewrite',
  RequestMirror: 'requestMirror',
} as const
type FilterType = keyof typeof members

/** Filters of a rule of an HTTPRoute. */
export const httpRuleFilters: Pick<FilterPlace, 'types' | 'otherwise'> = {
  // The keys of the table are its types.
  types: new Set(Object.keys(members) as FilterType[]),
  otherwise: 'the mesh does not know it',
}
/** Filters of a rule of a GRPCRoute. */
export const grpcRuleFilters: Pick<FilterPlace, 'types' | 'otherwise'> = {
  types: new Set<FilterType>(['RequestHeaderModifier', 'ResponseHeaderModifier', 'RequestMirror']),
  otherwise: 'GRPCRoutes have header modifiers and mirrors only',
}
/** Filters of one backend. */
export const backendFilters: Pick<FilterPlace, 'types' | 'otherwise'> = {
  types: new Set<FilterType>(['RequestHeaderModifier', 'ResponseHeaderModifier']),
  otherwise: 'a backend takes header modifiers only',
}

/** Translates filters. What a filter says is used as a whole or not at all. */
export function translateFilters(
  filters: readonly HTTPRouteFilter[] = [],
  place: FilterPlace,
  faults: RuleFaults,
): TranslatedFilters {
  const { field, types, otherwise } = place
  const seen = new Set<FilterType>()
  const mirrors: MirrorFilter[] = []
  let changes: FilterChanges = {}
  for (const [index, filter] of filters.entries()) {
    const at = `${field}[${index}]`
    const type = supportedType(filter, types)
    if (type === undefined) {
      faults.add('OSM_SPEC_ROUTE_VALUE', `${at}.type`, `filter ${filter.type} cannot be used: ${otherwise}`)
      continue
    }
    if (filter[members[type]] === undefined) {
      faults.add('OSM_SPEC_ROUTE_VALUE', `${at}.${members[type]}`, `is missing: the type is ${type}`)
      continue
    }
    if (seen.has(type) && type !== 'RequestMirror') {
      faults.add('OSM_SPEC_ROUTE_FILTERS', `${at}.type`, `there is a filter ${type} already`)
      continue
    }
    seen.add(type)
    if (filter.requestMirror !== undefined && type === 'RequestMirror') {
      const field = `${at}.requestMirror`
      checkShare(filter.requestMirror, field, faults)
      mirrors.push({ mirror: filter.requestMirror, field })
    } else changes = { ...changes, ...changesOf(type, filter, { ...place, field: at }, faults) }
  }
  if (seen.has('RequestRedirect') && (seen.has('URLRewrite') || seen.has('RequestMirror')))
    faults.add('OSM_SPEC_ROUTE_FILTERS', field, 'a redirect cannot be used together with URLRewrite or RequestMirror')
  return { changes, mirrors }
}

/** The share of requests that are copied is said once, and is not more than all of them. */
function checkShare({ percent, fraction }: MirrorFilter['mirror'], field: string, faults: RuleFaults): void {
  if (fraction === undefined) return
  const { numerator, denominator } = fraction
  if (percent !== undefined)
    faults.add('OSM_SPEC_ROUTE_FILTERS', `${field}.fraction`, 'cannot be used together with percent')
  if (numerator > denominator)
    faults.add(
      'OSM_SPEC_ROUTE_VALUE',
      `${field}.fraction.numerator`,
      `must be from 0 to ${denominator}, not ${numerator}`,
    )
}

function supportedType({ type }: HTTPRouteFilter, types: ReadonlySet<FilterType>): FilterType | undefined {
  return [...types].find((known) => known === type)
}

function changesOf(type: FilterType, filter: HTTPRouteFilter, place: FilterPlace, faults: RuleFaults): FilterChanges {
  switch (type) {
    case 'RequestHeaderModifier':
      return given(
        'requestHeaders',
        headerChanges(filter.requestHeaderModifier, `${place.field}.${members[type]}`, faults),
      )
    case 'ResponseHeaderModifier':
      return given(
        'responseHeaders',
        headerChanges(filter.responseHeaderModifier, `${place.field}.${members[type]}`, faults),
      )
    case 'RequestRedirect':
      return given('redirect', redirect(filter.requestRedirect, place, faults))
    case 'URLRewrite':
      return given('rewrite', rewrite(filter.urlRewrite, place, faults))
    case 'RequestMirror':
      return {}
  }
}

function given<K extends string, V>(name: K, value: V | undefined): { readonly [key in K]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [key in K]?: V } // one member of that name, or none
}

/** Headers that frame messages or choose where they go: a route has other means, or none, to change them. */
const framing: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
])
/** What a value may hold: visible characters, spaces and tabs. */
const headerValue = /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u

function headerChanges(
  { set = [], add = [], remove = [] }: NonNullable<HTTPRouteFilter['requestHeaderModifier']> = {},
  field: string,
  faults: RuleFaults,
): HeaderChanges | undefined {
  const taken = new Set<string>()
  const use = (name: string, place: string, value = ''): string => {
    const lower = name.toLowerCase()
    if (!isHeaderName(name) || framing.has(lower) || isIdentityHeader(lower) || isOrderHeader(lower))
      faults.add('OSM_SPEC_HEADER', place, `header ${JSON.stringify(name)} cannot be changed by a route`)
    else if (!headerValue.test(value)) faults.add('OSM_SPEC_HEADER', place, 'has a value with control characters')
    else if (taken.has(lower)) faults.add('OSM_SPEC_ROUTE_FILTERS', place, `header ${lower} is named twice`)
    taken.add(lower)
    return lower
  }
  const values = (list: typeof set, name: string) =>
    list
      .map((header, index) => ({
        name: use(header.name, `${field}.${name}[${index}]`, header.value),
        value: header.value,
      }))
      .sort((a, b) => compareText(a.name, b.name))
  const changes: HeaderChanges = {
    ...(set.length === 0 ? {} : { set: values(set, 'set') }),
    ...(add.length === 0 ? {} : { add: values(add, 'add') }),
    ...(remove.length === 0
      ? {}
      : { remove: remove.map((name, index) => use(name, `${field}.remove[${index}]`)).sort(compareText) }),
  }
  return Object.keys(changes).length === 0 ? undefined : changes
}

const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308] satisfies RouteRedirect['status'][]

function redirect(
  source: HTTPRouteFilter['requestRedirect'],
  place: FilterPlace,
  faults: RuleFaults,
): RouteRedirect | undefined {
  if (source === undefined) return undefined
  const { field } = place
  const { scheme, hostname, port, statusCode } = source
  const at = `${field}.requestRedirect`
  const host = hostName(hostname, `${at}.hostname`, faults)
  const path = pathChange(source.path, { ...place, field: `${at}.path` }, faults)
  if (!redirectStatuses.includes(statusCode)) {
    faults.add(
      'OSM_SPEC_ROUTE_VALUE',
      `${at}.statusCode`,
      `must be one of ${redirectStatuses.join(', ')}, not ${statusCode}`,
    )
    return undefined
  }
  return {
    // It is one of the list.
    status: statusCode as RouteRedirect['status'],
    ...given('scheme', scheme),
    ...given('host', host),
    ...given('port', port),
    ...given('path', path),
  }
}

function rewrite(
  source: HTTPRouteFilter['urlRewrite'],
  place: FilterPlace,
  faults: RuleFaults,
): RouteRewrite | undefined {
  const at = `${place.field}.urlRewrite`
  const host = hostName(source?.hostname, `${at}.hostname`, faults)
  const path = pathChange(source?.path, { ...place, field: `${at}.path` }, faults)
  return host === undefined && path === undefined ? undefined : { ...given('host', host), ...given('path', path) }
}

function hostName(name: string | undefined, field: string, faults: RuleFaults): string | undefined {
  if (name === undefined) return undefined
  const lower = name.toLowerCase()
  if (isDnsSubdomain(lower)) return lower
  faults.add('OSM_SPEC_HOST', field, `${JSON.stringify(name)} is not a host name`)
  return undefined
}

/** A path as it can stand in a request: no query, no fragment, nothing that sidecars refuse. */
const plainPath = /^\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*$/

function pathChange(
  source: NonNullable<HTTPRouteFilter['urlRewrite']>['path'],
  { field, matches = [] }: FilterPlace,
  faults: RuleFaults,
): PathChange | undefined {
  if (source === undefined) return undefined
  const isFull = source.type === 'ReplaceFullPath'
  const member = isFull ? 'replaceFullPath' : 'replacePrefixMatch'
  const value = source[member]
  if (value === undefined) {
    faults.add('OSM_SPEC_ROUTE_VALUE', `${field}.${member}`, `is missing: the type is ${source.type}`)
    return undefined
  }
  if (!plainPath.test(value) && (isFull || value !== '')) {
    const message = `must begin with a slash and have no query, not ${JSON.stringify(value)}`
    faults.add('OSM_SPEC_ROUTE_VALUE', `${field}.${member}`, message)
    return undefined
  }
  if (isFull) return { type: 'full', value }
  if (matches.some(({ path }) => path !== undefined && path.type !== 'PathPrefix')) {
    faults.add('OSM_SPEC_ROUTE_FILTERS', field, 'ReplacePrefixMatch needs matches with PathPrefix, or without a path')
    return undefined
  }
  return { type: 'prefix', value: value.replace(/\/+$/, '') }
}
