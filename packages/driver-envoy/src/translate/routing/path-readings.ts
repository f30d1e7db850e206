import type { Any } from '@bufbuild/protobuf/wkt'
import type { PathMatch } from '@osm-ts/driver-api/policy'
import type { HeaderMutationSchema as MutationSchema } from '@osm-ts/envoy-api/envoy/config/common/mutation_rules/v3/mutation_rules_pb.js'
import { HeaderValueOption_HeaderAppendAction as AppendAction } from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'
import type { PermissionSchema } from '@osm-ts/envoy-api/envoy/config/rbac/v3/rbac_pb.js'
import {
  Config_ValueType as ValueType,
  ConfigSchema as HeaderToMetadataSchema,
} from '@osm-ts/envoy-api/envoy/extensions/filters/http/header_to_metadata/v3/header_to_metadata_pb.js'

import { type Init, pack } from '../encoding/encode.js'
import { stringMatcher } from './matching.js'
import { ESCAPED_SLASH } from './path-rule.js'

/*
 * Where escaped slashes are kept, an application may take them for slashes, and a rule must let in that path too. Envoy's rules cannot rewrite what they
 * look at, so the other readings of a path are in the metadata of its request. A header takes the path there, because only headers can be rewritten into
 * metadata; it is removed on the way. Each reading ends in a slash more than the path has: the rewriting puts one in place of the query.
 */

type PermissionInit = Init<typeof PermissionSchema>

/** Carries the path from the connection manager to the filter. Set whatever a client sent, and never forwarded. */
const PATH_HEADER = 'x-osm-path'
const METADATA = 'osm.path'

/** Readings by the key of their metadata, with what is replaced by a slash: escapes alone, or whole runs of slashes; and the query. */
const READINGS = {
  plain: String.raw`%(?:2[fF]|5[cC])|\?\C*`,
  merged: String.raw`(?:/|%2[fF]|%5[cC])+|\?\C*`,
} as const

/** Copies the path, with a query in any case, before filters see the request. */
export function pathCopy(): Init<typeof MutationSchema> {
  return {
    action: {
      case: 'append',
      value: {
        header: { key: PATH_HEADER, value: '%REQ(:PATH)%?' },
        appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
      },
    },
  }
}

/** Makes the readings out of the copy. A path of more than 8 KiB gets none, so that rules refuse it if it has escaped slashes. */
export function pathReadings(): Any {
  const rules = Object.entries(READINGS)
  return pack(HeaderToMetadataSchema, {
    requestRules: rules.map(([key, regex], index) => ({
      header: PATH_HEADER,
      onHeaderPresent: {
        metadataNamespace: METADATA,
        key,
        type: ValueType.STRING,
        regexValueRewrite: { pattern: { regex }, substitution: '/' },
      },
      remove: index === rules.length - 1,
    })),
  })
}

/** Holds if a path has no escaped slash, or if every reading of it fulfils the condition. Undefined where the path as it was sent says it all. */
export function readingsPermission(path: PathMatch): PermissionInit | undefined {
  if (path.type === 'exact') return undefined
  const condition: PathMatch =
    path.type === 'prefix' ? path : { type: 'regex', value: `(?:${withClosedQuote(path.value)})/` }
  const hasEscape: PermissionInit = {
    rule: {
      case: 'urlPath',
      value: { rule: { case: 'path', value: stringMatcher({ type: 'regex', value: ESCAPED_SLASH }) } },
    },
  }
  const readings = Object.keys(READINGS).map((key): PermissionInit => ({
    rule: {
      case: 'metadata',
      value: {
        filter: METADATA,
        path: [{ segment: { case: 'key', value: key } }],
        value: { matchPattern: { case: 'stringMatch', value: stringMatcher(condition) } },
      },
    },
  }))
  return {
    rule: {
      case: 'orRules',
      value: {
        rules: [
          { rule: { case: 'notRule', value: hasEscape } },
          { rule: { case: 'andRules', value: { rules: readings } } },
        ],
      },
    },
  }
}

/** An expression that others can stand behind: `\Q` without `\E` quotes all that follows. */
function withClosedQuote(regex: string): string {
  for (let at = regex.indexOf('\\'); at >= 0; at = regex.indexOf('\\', at)) {
    if (regex[at + 1] === 'Q') {
      const end = regex.indexOf(String.raw`\E`, at + 2)
      if (end < 0) return String.raw`${regex}\E`
      at = end
    }
    at += 2
  }
  return regex
}
