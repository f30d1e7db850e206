import type {
  HeaderChanges,
  OutboundRoute,
  PathChange,
  RouteRedirect,
  RouteRewrite,
  RouteTarget,
} from '@osm-ts/driver-api/policy'

import { escaped, hostName, literal, quoted } from './words.js'

type Matched = OutboundRoute['match']
type ChangedHeaders = Pick<OutboundRoute | RouteTarget, 'requestHeaders' | 'responseHeaders'>

/** Lines that change messages, in the order in which HAProxy carries them out. */
export interface ChangeLines {
  readonly requests: readonly string[]
  readonly responses: readonly string[]
}

/**
 * Changes of headers.
 *
 * @param terms - conditions that hold for the requests and responses that are changed
 * @throws Unsayable
 */
export function headerLines({ requestHeaders, responseHeaders }: ChangedHeaders, terms: string): ChangeLines {
  return {
    requests: changesOf('http-request', requestHeaders, terms),
    // Also for what HAProxy answers by itself, such as a redirect.
    responses: changesOf('http-after-response', responseHeaders, terms),
  }
}

function changesOf(
  ruleset: 'http-request' | 'http-after-response',
  { set = [], add = [], remove = [] }: HeaderChanges = {},
  terms: string,
): readonly string[] {
  const changes = [
    ...remove.map((name) => `del-header ${quoted(name)}`),
    ...set.map(({ name, value }) => `set-header ${quoted(name)} ${literal(value)}`),
    ...add.map(({ name, value }) => `add-header ${quoted(name)} ${literal(value)}`),
  ]
  return changes.map((change) => `${ruleset} ${change} if ${terms}`)
}

/**
 * Changes of host and path of requests.
 *
 * @param terms - conditions that hold for the requests of the route
 * @throws Unsayable
 */
export function rewriteLines({ host, path }: RouteRewrite, match: Matched, terms: string): readonly string[] {
  return [
    ...(host === undefined ? [] : [`http-request set-header host ${hostName(host)} if ${terms}`]),
    ...(path === undefined ? [] : pathLines(path, match, terms)),
  ]
}

/**
 * The answer that sends a client elsewhere.
 *
 * @param terms - conditions that hold for the requests of the route
 * @throws Unsayable
 */
export function redirectLines(redirect: RouteRedirect, match: Matched, terms: string): readonly string[] {
  const { status, scheme = 'http', path } = redirect
  const location = `${scheme}://${authorityOf(redirect)}%[pathq]`
  return [
    // The path of the answer is that of the request, which is not sent on.
    ...(path === undefined ? [] : pathLines(path, match, terms)),
    `http-request redirect location ${quoted(location)} code ${status} if ${terms}`,
  ]
}

const usualPorts = { http: 80, https: 443 } as const

/** Host and port in a format. A port that goes without saying is not said, beside the host of the request only where the scheme is another one. */
function authorityOf({ scheme = 'http', host, port }: RouteRedirect): string {
  if (host !== undefined)
    return `${hostName(host)}${port === undefined || port === usualPorts[scheme] ? '' : `:${port}`}`
  if (port !== undefined) return `%[req.hdr(host),host_only]:${port}`
  return scheme === 'https' ? '%[req.hdr(host),regsub(:80$,)]' : '%[req.hdr(host)]'
}

function pathLines(change: PathChange, { path }: Matched, terms: string): readonly string[] {
  if (change.type === 'full') return [`http-request set-path ${literal(change.value)} if ${terms}`]
  // What is behind the segments that the route matches. A length has nothing that would need quotes.
  const behind = path?.type === 'segments' ? `path,bytes(${Buffer.byteLength(path.value)})` : 'path'
  // Either nothing, or it begins with a slash, which a path without anything else needs as well.
  const [value, rest] = change.value === '' ? ['/', `${behind},ltrim(/)`] : [escaped(change.value), behind]
  return [
    `http-request set-var(txn.rest) ${rest} if ${terms}`,
    `http-request set-path ${quoted(`${value}%[var(txn.rest)]`)} if ${terms}`,
  ]
}
