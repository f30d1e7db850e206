import { ESCAPED_SLASH_REFUSAL } from '@osm-ts/driver-api/policy'
import { ExtAuthzPerRouteSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb.js'
import { RBACPerRouteSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac_pb.js'
import type { RouteSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'

import { type Init, pack } from '../encoding/encode.js'
import { HTTP_EXTERNAL_AUTHORIZATION, HTTP_RBAC } from './filter-order.js'
import { headerValue } from './matching.js'

type RouteInit = Init<typeof RouteSchema>

/** Paths with an escaped slash or backslash. `\C` is any byte, so that bytes that are not UTF-8 cannot hide what is beside them. */
export const ESCAPED_SLASH = String.raw`\C*%(?:2[fF]|5[cC])\C*`

/**
 * Paths that two readers could understand differently: a backslash, NUL, and dot segments, encoded or not, with parameters or without: some servers take
 * `..;a=b` for `..`. An escaped slash or backslash ends a segment as well, for where those are kept.
 * Nothing but slashes is left as two by Envoy's merging, which rules and readers would not expect.
 * Matched against the path without the query.
 */
export const AMBIGUOUS_PATH = String.raw`\C*(?:\\|%00)\C*|(?:\C*(?:/|%2[fF]|%5[cC]))?(?:\.|%2[eE]){1,2}(?:(?:/|;|%3[bB]|%2[fF]|%5[cC])\C*)?|//`

/** One encoded byte that continues a character. */
const CONTINUATION = '%[89abAB][0-9a-fA-F]'

/**
 * One character, written as it is if it is ASCII, or as the encoded bytes of UTF-8 (RFC 3629, section 4). HTTP allows no other bytes in a path. Over
 * HTTP/1.1 Envoy refuses them itself; over HTTP/2 it does not, and its expressions also match bytes that are not UTF-8.
 */
const CHARACTER = [
  String.raw`[\x01-$&->@-\x7f]`,
  '%[0-7][0-9a-fA-F]',
  `%(?:[cC][2-9a-fA-F]|[dD][0-9a-fA-F])${CONTINUATION}`,
  `%[eE]0%[abAB][0-9a-fA-F]${CONTINUATION}`,
  `%[eE][1-9a-cefA-CEF](?:${CONTINUATION}){2}`,
  `%[eE][dD]%[89][0-9a-fA-F]${CONTINUATION}`,
  `%[fF]0%[9abAB][0-9a-fA-F](?:${CONTINUATION}){2}`,
  `%[fF][1-3](?:${CONTINUATION}){3}`,
  `%[fF]4%8[0-9a-fA-F](?:${CONTINUATION}){2}`,
].join('|')

/** Paths that decode to UTF-8, with or without a query. */
export const UTF8_PATH = String.raw`(?:${CHARACTER})*(?:\?[^\x00]*)?`

/**
 * The first routes of every served virtual host: what the path rule of the mesh refuses is answered 400, and never rewritten, since authorization and
 * the application must read the same path. (`//` is merged and `#` refused before routes are checked.)
 */
export function pathRuleRoutes(keepsEscapedSlashes: boolean): RouteInit[] {
  const matching = (regex: string): RouteInit['match'] => ({ pathSpecifier: { case: 'safeRegex', value: { regex } } })
  return [
    ...(keepsEscapedSlashes ? [] : [refuse(matching(ESCAPED_SLASH), ESCAPED_SLASH_REFUSAL)]),
    refuse(matching(AMBIGUOUS_PATH)),
    refuse({
      pathSpecifier: { case: 'prefix', value: '' },
      headers: [headerValue(':path', { type: 'regex', value: UTF8_PATH }, true)],
    }),
  ]
}

function refuse(match: RouteInit['match'], reason = 'path not allowed'): RouteInit {
  return {
    match,
    action: {
      case: 'directResponse',
      value: { status: 400, body: { specifier: { case: 'inlineString', value: reason } } },
    },
    // No rule can be right about such a path, so none is asked: 400 for everybody.
    typedPerFilterConfig: {
      [HTTP_RBAC]: pack(RBACPerRouteSchema, {}),
      [HTTP_EXTERNAL_AUTHORIZATION]: pack(ExtAuthzPerRouteSchema, { override: { case: 'disabled', value: true } }),
    },
  }
}
