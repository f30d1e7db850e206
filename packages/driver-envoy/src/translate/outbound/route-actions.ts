import type {
  HeaderChanges,
  OutboundRoute,
  PathChange,
  RouteMirror,
  RouteRedirect,
  RouteRewrite,
} from '@osm-ts/driver-api/policy'
import {
  type HeaderValueOptionSchema,
  HeaderValueOption_HeaderAppendAction as AppendAction,
} from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'
import {
  RedirectAction_RedirectResponseCode as ResponseCode,
  type RedirectActionSchema,
  type RouteAction_RequestMirrorPolicySchema,
} from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import { FractionalPercent_DenominatorType as Denominator } from '@osm-ts/envoy-api/envoy/type/v3/percent_pb.js'

import { type Init, oneOf } from '../encoding/encode.js'
import { quoted } from '../routing/matching.js'

type HeaderValueOptionInit = Init<typeof HeaderValueOptionSchema>
type Matched = OutboundRoute['match']
type ChangedHeaders = Pick<OutboundRoute, 'requestHeaders' | 'responseHeaders'>

/** Changes of headers, in the fields that routes and weighted clusters have in common. */
export function headerChanges({ requestHeaders = {}, responseHeaders = {} }: ChangedHeaders): {
  readonly requestHeadersToAdd: HeaderValueOptionInit[]
  readonly requestHeadersToRemove: string[]
  readonly responseHeadersToAdd: HeaderValueOptionInit[]
  readonly responseHeadersToRemove: string[]
} {
  return {
    requestHeadersToAdd: headerValues(requestHeaders),
    requestHeadersToRemove: [...(requestHeaders.remove ?? [])],
    responseHeadersToAdd: headerValues(responseHeaders),
    responseHeadersToRemove: [...(responseHeaders.remove ?? [])],
  }
}

/**
 * Changes that a route and then a target of it make. Envoy would make those of the target first, so a route whose targets have changes leaves its own to them.
 */
export function changesOfBoth(route: ChangedHeaders, target: ChangedHeaders): ChangedHeaders {
  return {
    requestHeaders: inOrder(route.requestHeaders, target.requestHeaders),
    responseHeaders: inOrder(route.responseHeaders, target.responseHeaders),
  }
}

/** What changes headers as one list does and then another. Within a list Envoy removes first, then sets, then adds. */
function inOrder(first: HeaderChanges = {}, { set = [], add = [], remove = [] }: HeaderChanges = {}): HeaderChanges {
  const decided = new Set([...set.map(({ name }) => name), ...remove])
  const isOpen = ({ name }: { readonly name: string }): boolean => !decided.has(name)
  return {
    set: [...(first.set ?? []).filter(isOpen), ...set],
    add: [...(first.add ?? []).filter(isOpen), ...add],
    remove: [...(first.remove ?? []).filter((name) => !decided.has(name)), ...remove],
  }
}

function headerValues({ set = [], add = [] }: HeaderChanges): HeaderValueOptionInit[] {
  const options = (list: typeof set, appendAction: AppendAction): HeaderValueOptionInit[] =>
    // Envoy takes a value for a format, in which a percent sign begins a command.
    list.map(({ name, value }) => ({
      header: { key: name, value: value.replaceAll('%', '%%') },
      appendAction,
      keepEmptyValue: true,
    }))
  return [
    ...options(set, AppendAction.OVERWRITE_IF_EXISTS_OR_ADD),
    ...options(add, AppendAction.APPEND_IF_EXISTS_OR_ADD),
  ]
}

const responseCodes: Readonly<Record<RouteRedirect['status'], ResponseCode>> = {
  301: ResponseCode.MOVED_PERMANENTLY,
  302: ResponseCode.FOUND,
  303: ResponseCode.SEE_OTHER,
  307: ResponseCode.TEMPORARY_REDIRECT,
  308: ResponseCode.PERMANENT_REDIRECT,
}

const usualPorts = { http: 80, https: 443 } as const

/** The answer that sends a client elsewhere. */
export function redirectAction(
  { status, scheme, host, port, path }: RouteRedirect,
  match: Matched,
): Init<typeof RedirectActionSchema> {
  // The port that a scheme implies is not written down; a host without a port takes the old one away.
  const isUsual = host !== undefined && port === usualPorts[scheme ?? 'http']
  return {
    responseCode: responseCodes[status],
    ...(scheme === undefined ? {} : { schemeRewriteSpecifier: oneOf('schemeRedirect', scheme) }),
    ...(host === undefined ? {} : { hostRedirect: host }),
    ...(port === undefined || isUsual ? {} : { portRedirect: port }),
    ...(path === undefined ? {} : { pathRewriteSpecifier: redirectedPath(path, match) }),
  }
}

function redirectedPath(
  path: PathChange,
  match: Matched,
): NonNullable<Init<typeof RedirectActionSchema>['pathRewriteSpecifier']> {
  if (path.type === 'full') return oneOf('pathRedirect', path.value)
  return oneOf('regexRewrite', prefixRewrite(path.value, match))
}

/** Changes of host and path, in the fields of a route's action. */
export function rewriteFields({ host, path }: RouteRewrite = {}, match: Matched) {
  return {
    ...(host === undefined ? {} : { hostRewriteSpecifier: oneOf('hostRewriteLiteral', host) }),
    ...(path === undefined
      ? {}
      : {
          regexRewrite:
            path.type === 'full'
              ? { pattern: { regex: String.raw`^\C*$` }, substitution: substitution(path.value) }
              : prefixRewrite(path.value, match),
        }),
  }
}

/** Replaces whole segments at the beginning of a path; whatever is left begins with one slash. Envoy's own replacement of prefixes leaves two, or none. */
function prefixRewrite(value: string, { path }: Matched) {
  const segments = path?.type === 'segments' ? quoted(path.value) : ''
  return value === ''
    ? { pattern: { regex: `^${segments}/*` }, substitution: '/' }
    : { pattern: { regex: `^${segments}(/?)/*` }, substitution: `${substitution(value)}${FIRST_GROUP}` }
}

const FIRST_GROUP = String.raw`\1`

/** Text of a substitution, in which a backslash begins the number of a group. */
function substitution(text: string): string {
  return text.replaceAll('\\', String.raw`\\`)
}

/** Copies of requests. */
export function mirrorPolicies(
  mirrors: readonly RouteMirror[] = [],
): Init<typeof RouteAction_RequestMirrorPolicySchema>[] {
  return mirrors.map(({ upstream, perMillion }) => ({
    cluster: upstream,
    runtimeFraction: { defaultValue: { numerator: perMillion, denominator: Denominator.MILLION } },
    disableShadowHostSuffixAppend: true,
  }))
}
