import { ExtAuthzPerRouteSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb.js'
import { RBACPerRouteSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac_pb.js'
import type { RouteSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'

import { type Init, pack } from './encode.js'
import { HTTP_EXTERNAL_AUTHORIZATION, HTTP_RBAC } from './filter-order.js'
import { headerValue } from './matching.js'

type RouteInit = Init<typeof RouteSchema>

/**
 * Paths that two readers could understand differently: an encoded slash or backslash, a backslash, NUL, and dot segments, encoded or not, with
 * parameters or without: some servers take `..;a=b` for `..`.
 * Nothing but slashes is left as two by Envoy's merging, which rules and readers would not expect.
 * `\C` is any byte, so that bytes that are not UTF-8 cannot hide what stands beside them. Matched against the path without the query.
 */
export const AMBIGUOUS_PATH = String.raw`\C*(?:\\|%2[fF]|%5[cC]|%00)\C*|(?:\C*/)?(?:\.|%2[eE]){1,2}(?:(?:/|;|%3[bB])\C*)?|//`

/** One encoded byte that continues a character. */
const CONTINUATION = '%[89abAB][0-9a-fA-F]'

/** One character, written as it is or as the encoded bytes of UTF-8 (RFC 3629, section 4). */
const CHARACTER = [
  String.raw`[^%?\x00]`,
  '%[0-7][0-9a-fA-F]',
  `%(?:[cC][2-9a-fA-F]|[dD][0-9a-fA-F])${CONTINUATION}`,
  `%[eE]0%[abAB][0-9a-fA-F]${CONTINUATION}`,
  `%[eE][1-9a-cefA-CEF](?:${CONTINUATION}){2}`,
  `%[eE][dD]%[89][0-9a-fA-F]${CONTINUATION}`,
  `%[fF]0%[9abAB][0-9a-fA-F](?:${CONTINUATION}){2}`,
  `%[fF][1-3](?:${CONTINUATION}){3}`,
  `%[fF]4%8[0-9a-fA-F](?:${CONTINUATION}){2}`,
].join('|')

/** Paths that decode to UTF-8, with or without a query. RE2 itself matches no text that is not UTF-8. */
export const UTF8_PATH = String.raw`(?:${CHARACTER})*(?:\?[^\x00]*)?`

/**
 * The first routes of every served virtual host: what the path rule of the mesh refuses is answered 400, and never rewritten, since authorization and
 * the application must read the same path. (`//` is merged and `#` refused before routes are looked at.)
 */
export function pathRuleRoutes(): RouteInit[] {
  return [
    refuse({ pathSpecifier: { case: 'safeRegex', value: { regex: AMBIGUOUS_PATH } } }),
    refuse({
      pathSpecifier: { case: 'prefix', value: '' },
      headers: [headerValue(':path', { type: 'regex', value: UTF8_PATH }, true)],
    }),
  ]
}

function refuse(match: RouteInit['match']): RouteInit {
  return {
    match,
    action: {
      case: 'directResponse',
      value: { status: 400, body: { specifier: { case: 'inlineString', value: 'path not allowed' } } },
    },
    // No rule can be right about such a path, so none is asked: 400 for everybody.
    typedPerFilterConfig: {
      [HTTP_RBAC]: pack(RBACPerRouteSchema, {}),
      [HTTP_EXTERNAL_AUTHORIZATION]: pack(ExtAuthzPerRouteSchema, { override: { case: 'disabled', value: true } }),
    },
  }
}
