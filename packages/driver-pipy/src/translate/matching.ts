import {
  compareCanonical,
  isIdentityHeader,
  isOrderHeader,
  type PartRef,
  type OutboundMatch,
  type RoutedPathMatch,
  type StringMatch,
} from '@osm-ts/driver-api/policy'

import type { RequestMatch, TextMatch } from '../config/types.js'
import { RegexRefused } from '../regex/regex-table.js'
import type { PolicyReader } from './policy-reader.js'

/** Nothing: conditions that can't be put to the sidecar hold for no request. */
const NEVER: TextMatch = { regex: { bounds: [0], next: [[-1]], accepts: [0] } }

/**
 * The conditions of a request. Headers that no rule may look at fulfil none, wherever the request is. A condition that can't be translated holds for no request, and is refused with its place in the part: an allow rule then
 * allows nothing, and never more than was written.
 */
export function requestMatch(
  { path, methods, headers, queryParameters }: OutboundMatch,
  reader: PolicyReader,
  ref: PartRef,
  pointer: string,
): RequestMatch {
  return {
    ...(path === undefined ? {} : { path: textMatch(path, reader, ref, `${pointer}/path`) }),
    ...(methods === undefined ? {} : { methods: [...methods].sort() }),
    ...(headers === undefined
      ? {}
      : {
          headers: [...headers].sort(compareCanonical).map(({ name, match, invert }) => {
            const place = `${pointer}/headers/${headers.findIndex((header) => header.name === name)}`
            const text = isIdentityHeader(name) || isOrderHeader(name) ? NEVER : textMatch(match, reader, ref, place)
            return headerMatch(name, text, invert === true)
          }),
        }),
    ...(queryParameters === undefined
      ? {}
      : {
          query: queryParameters.map(({ name, match }, i) => ({
            name,
            match: textMatch(match, reader, ref, `${pointer}/queryParameters/${i}`),
          })),
        }),
  }
}

function headerMatch(name: string, match: TextMatch, invert: boolean): NonNullable<RequestMatch['headers']>[number] {
  // An inverted empty match would match everything.
  return invert && match !== NEVER ? { name, match, invert } : { name, match }
}

function textMatch(
  match: StringMatch | RoutedPathMatch,
  reader: PolicyReader,
  ref: PartRef,
  pointer: string,
): TextMatch {
  switch (match.type) {
    case 'exact':
      return { exact: match.value }
    case 'prefix':
      return { prefix: match.value }
    case 'segments':
      return { segments: match.value }
    case 'present':
      return { present: true }
    case 'regex':
      try {
        return { regex: reader.regexes.table(match.value) }
      } catch (error) {
        if (!(error instanceof RegexRefused)) throw error
        reader.refuse(ref, pointer, `the expression can't be used by class pipy: ${error.message}`)
        return NEVER
      }
  }
}
