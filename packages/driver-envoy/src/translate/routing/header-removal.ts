import type { Any } from '@bufbuild/protobuf/wkt'
import type { HeaderMutationSchema as MutationSchema } from '@osm-ts/envoy-api/envoy/config/common/mutation_rules/v3/mutation_rules_pb.js'
import { HeaderMutationPerRouteSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/header_mutation/v3/header_mutation_pb.js'

import { type Init, pack } from '../encoding/encode.js'

/** Removes request headers whose whole name matches one of the expressions. */
export function removals(expressions: readonly string[]): Init<typeof MutationSchema>[] {
  return expressions.map((regex) => ({
    action: {
      case: 'removeOnMatch',
      value: { keyMatcher: { matchPattern: { case: 'safeRegex', value: { regex } } } },
    },
  }))
}

/** The same as a setting of a virtual host: it changes with the rules there, and drains no connection. */
export function removalsOfVirtualHost(expressions: readonly string[]): Any {
  return pack(HeaderMutationPerRouteSchema, { mutations: { requestMutations: removals(expressions) } })
}
