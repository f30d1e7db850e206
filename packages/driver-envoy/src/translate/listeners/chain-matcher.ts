import { StringValueSchema } from '@bufbuild/protobuf/wkt'
import type { DescMessage } from '@bufbuild/protobuf'
import {
  DestinationIPInputSchema,
  DestinationPortInputSchema,
  ServerNameInputSchema,
  TransportProtocolInputSchema,
} from '@osm-ts/envoy-api/envoy/extensions/matching/common_inputs/network/v3/network_inputs_pb.js'
import { IPMatcherSchema } from '@osm-ts/envoy-api/xds/type/matcher/v3/ip_pb.js'
import type {
  Matcher_MatcherList_FieldMatcherSchema as FieldMatcherSchema,
  Matcher_OnMatchSchema as OnMatchSchema,
  MatcherSchema,
} from '@osm-ts/envoy-api/xds/type/matcher/v3/matcher_pb.js'

import type { AddressRange } from '../encoding/address.js'
import { type Init, pack } from '../encoding/encode.js'
import { groupBy } from '../encoding/group-by.js'

type Matcher = Init<typeof MatcherSchema>
type OnMatch = Init<typeof OnMatchSchema>

/** Which redirected connections a filter chain takes. */
export interface ChainSelector {
  /** Name of the chain. */
  readonly chain: string
  /** Port that was dialled. */
  readonly port: number
  /** Ranges of addresses that were dialled; empty: any address that no other selector of the port names. */
  readonly ranges: readonly AddressRange[]
  /** Present: TLS only, with one of these server names, which may be `*.<suffix>`; empty: with any or none. With `ranges`, another selector has the same ones without server names. */
  readonly serverNames?: readonly string[]
  /** What {@link takenBy} gives for the chain, where many matchers choose it. */
  readonly onMatch?: OnMatch
}

/** An encoded filter chain, and which connections it takes. */
export interface SelectedChain {
  readonly value: Uint8Array
  readonly selector: ChainSelector
}

/**
 * Chooses a filter chain by port, then by the most specific range, then by server name: the order of Envoy's `filter_chain_match`.
 *
 * Unlike a match inside of chains, it may change without draining the connections of any chain. Connections that it does not match go to the default chain.
 */
export function chainMatcher(selectors: readonly ChainSelector[]): Matcher {
  const byPort = groupBy(selectors, ({ port }) => port)
  return exactly(
    DestinationPortInputSchema,
    [...byPort].map(([port, ofPort]) => [String(port), onPort(ofPort)]),
  )
}

function onPort(selectors: readonly ChainSelector[]): OnMatch {
  const atAddresses = selectors.filter(({ ranges }) => ranges.length > 0)
  const anywhere = atAnyAddress(selectors.filter(({ ranges }) => ranges.length === 0))
  if (atAddresses.length === 0 && anywhere !== undefined) return anywhere
  // What server names choose has addresses of its own.
  const named = groupBy(
    atAddresses.filter(({ serverNames }) => serverNames !== undefined),
    rangesKey,
  )
  const plain = atAddresses.filter(({ serverNames }) => serverNames === undefined)
  const byChain = groupBy(
    plain.filter((selector) => !named.has(rangesKey(selector))),
    ({ chain }) => chain,
  )
  const byName = [...named].flatMap(([key, ofNames]) => {
    const onMatch = atAnyAddress([...ofNames, ...plain.filter((selector) => rangesKey(selector) === key)])
    return onMatch === undefined ? [] : [{ ranges: [...(ofNames[0]?.ranges ?? [])], onMatch }]
  })
  return nested({
    matcherType: {
      case: 'matcherTree',
      value: {
        input: input(DestinationIPInputSchema),
        treeType: {
          case: 'customMatch',
          value: {
            name: 'envoy.matching.custom_matchers.ip_matcher',
            typedConfig: pack(IPMatcherSchema, {
              rangeMatchers: [
                ...[...byChain].map(([chain, ofChain]) => ({
                  ranges: ofChain.flatMap(({ ranges }) => ranges),
                  onMatch: ofChain[0]?.onMatch ?? takenBy(chain),
                })),
                ...byName,
              ],
            }),
          },
        },
      },
    },
    ...(anywhere === undefined ? {} : { onNoMatch: anywhere }),
  })
}

function rangesKey({ ranges }: ChainSelector): string {
  return JSON.stringify(ranges)
}

/** Server names choose first; a wildcard stands for all names below it, and the longest counts. */
function atAnyAddress(selectors: readonly ChainSelector[]): OnMatch | undefined {
  const [plain] = selectors.filter(({ serverNames }) => serverNames === undefined)
  const [anyTls] = selectors.filter(({ serverNames }) => serverNames?.length === 0)
  const named = selectors.flatMap(({ chain, serverNames = [] }) =>
    serverNames.map((name) => ({ chain, name: name.toLowerCase() })),
  )
  const otherwise = plain && takenBy(plain.chain)
  const unnamed = anyTls
    ? orElse(exactly(TransportProtocolInputSchema, [['tls', takenBy(anyTls.chain)]]), otherwise)
    : otherwise
  const wildcards = named.filter(({ name }) => name.startsWith('*.')).sort((a, b) => b.name.length - a.name.length)
  const below = wildcards.length === 0 ? unnamed : orElse(suffixes(wildcards), unnamed)
  const exact = named.filter(({ name }) => !name.startsWith('*.'))
  if (exact.length === 0) return below
  const byName = exact.map(({ chain, name }) => [name, takenBy(chain)] as const)
  return orElse(exactly(ServerNameInputSchema, byName), below)
}

function suffixes(names: readonly { readonly chain: string; readonly name: string }[]): Matcher {
  const matchers = names.map(({ chain, name }): Init<typeof FieldMatcherSchema> => ({
    predicate: {
      matchType: {
        case: 'singlePredicate',
        value: {
          input: input(ServerNameInputSchema),
          matcher: { case: 'valueMatch', value: { matchPattern: { case: 'suffix', value: name.slice(1) } } },
        },
      },
    },
    onMatch: takenBy(chain),
  }))
  return { matcherType: { case: 'matcherList', value: { matchers } } }
}

function exactly(of: DescMessage, choices: readonly (readonly [string, OnMatch])[]): Matcher {
  return {
    matcherType: {
      case: 'matcherTree',
      value: { input: input(of), treeType: { case: 'exactMatchMap', value: { map: Object.fromEntries(choices) } } },
    },
  }
}

function orElse(matcher: Matcher, otherwise: OnMatch | undefined): OnMatch {
  return nested(otherwise === undefined ? matcher : { ...matcher, onNoMatch: otherwise })
}

function nested(matcher: Matcher): OnMatch {
  return { onMatch: { case: 'matcher', value: matcher } }
}

/** Leads to the chain. */
export function takenBy(chain: string): OnMatch {
  return {
    onMatch: { case: 'action', value: { name: 'chain', typedConfig: pack(StringValueSchema, { value: chain }) } },
  }
}

function input(schema: DescMessage): { readonly name: string; readonly typedConfig: ReturnType<typeof pack> } {
  return { name: schema.name, typedConfig: pack(schema, {}) }
}
