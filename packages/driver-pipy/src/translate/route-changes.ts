import type {
  HeaderChanges as PolicyHeaderChanges,
  OutboundRoute,
  PathChange as PolicyPathChange,
  RouteRedirect,
  RouteRewrite,
} from '@osm-ts/driver-api/policy'

import type { HeaderChanges, PathChange, Redirect, Route } from '../config/types.js'

/**
 * Headers of one hop and of framing, which Pipy and the scripts write themselves, and headers by which the scripts tell themselves something. No change of them would reach the
 * other side, or it would break a message.
 */
const ownHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'osm-sidecar-framing',
  'osm-sidecar-length',
  'osm-sidecar-long',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What a route, or a share of it, changes of messages. */
export function messageChanges({
  requestHeaders,
  responseHeaders,
}: Pick<OutboundRoute, 'requestHeaders' | 'responseHeaders'>): Pick<Route, 'request' | 'response'> {
  const request = headerChanges(requestHeaders)
  const response = headerChanges(responseHeaders)
  return { ...(request === undefined ? {} : { request }), ...(response === undefined ? {} : { response }) }
}

function headerChanges({ set = [], add = [], remove = [] }: PolicyHeaderChanges = {}): HeaderChanges | undefined {
  const valuesOf = (list: typeof set): NonNullable<HeaderChanges['set']> =>
    list.filter(({ name }) => !ownHeaders.has(name)).map(({ name, value }) => [name, value])
  const changes = { set: valuesOf(set), add: valuesOf(add), remove: remove.filter((name) => !ownHeaders.has(name)) }
  const given = Object.entries(changes).filter(([, list]) => list.length > 0)
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

const usualPorts = { http: 80, https: 443 } as const

/** The answer that sends a caller elsewhere. */
export function redirectOf(
  { status, scheme, host, port, path }: RouteRedirect,
  match: OutboundRoute['match'],
): Redirect {
  // The port that a scheme implies is not written down; a host without a port takes the old one away.
  const isUsual = host !== undefined && port === usualPorts[scheme ?? 'http']
  return {
    status,
    ...(scheme === undefined ? {} : { scheme }),
    ...(host === undefined ? {} : { host }),
    ...(port === undefined || isUsual ? {} : { port }),
    ...(path === undefined ? {} : { path: pathChange(path, match) }),
  }
}

/** Changes of the host and the path of requests. */
export function rewriteOf({ host, path }: RouteRewrite, match: OutboundRoute['match']): NonNullable<Route['rewrite']> {
  return { ...(host === undefined ? {} : { host }), ...(path === undefined ? {} : { path: pathChange(path, match) }) }
}

function pathChange({ type, value }: PolicyPathChange, { path }: OutboundRoute['match']): PathChange {
  return type === 'full' ? { full: value } : { prefix: path?.type === 'segments' ? path.value : '', value }
}
