import { create, toJson } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import { MatcherSchema } from '@osm-ts/envoy-api/xds/type/matcher/v3/matcher_pb.js'

import { messageRegistry } from '../../resources/message-registry.js'
import { hostRange } from '../encoding/address.js'
import { chainMatcher, type ChainSelector } from './chain-matcher.js'

interface OnMatch {
  readonly action?: { readonly typedConfig: { readonly value: string } }
  readonly matcher?: Matcher
}

interface Matcher {
  readonly matcherTree?: {
    readonly input: { readonly name: string }
    readonly exactMatchMap?: { readonly map: Readonly<Record<string, OnMatch>> }
    readonly customMatch?: {
      readonly typedConfig: {
        readonly rangeMatchers: readonly {
          readonly ranges: readonly { readonly addressPrefix: string }[]
          readonly onMatch: OnMatch
        }[]
      }
    }
  }
  readonly matcherList?: {
    readonly matchers: readonly {
      readonly predicate: { readonly singlePredicate: { readonly valueMatch: { readonly suffix: string } } }
      readonly onMatch: OnMatch
    }[]
  }
  readonly onNoMatch?: OnMatch
}

/** A connection that was redirected. */
interface Dialled {
  readonly port: number
  readonly address: string
  /** Present: TLS. */
  readonly serverName?: string
}

/** The chain that Envoy takes, as its documentation says; undefined: the default chain. */
function chosen(selectors: readonly ChainSelector[], dialled: Dialled): string | undefined {
  const json = toJson(MatcherSchema, create(MatcherSchema, chainMatcher(selectors)), { registry: messageRegistry() })
  const follow = (match: OnMatch | undefined): string | undefined =>
    match?.matcher === undefined ? match?.action?.typedConfig.value : evaluate(match.matcher)
  const evaluate = ({ matcherTree, matcherList, onNoMatch }: Matcher): string | undefined => {
    const input = matcherTree?.input.name
    const value =
      input === 'DestinationPortInput'
        ? String(dialled.port)
        : input === 'TransportProtocolInput'
          ? dialled.serverName === undefined
            ? ''
            : 'tls'
          : (dialled.serverName ?? '')
    const found =
      matcherTree?.exactMatchMap?.map[value] ??
      matcherTree?.customMatch?.typedConfig.rangeMatchers.find(({ ranges }) =>
        ranges.some(({ addressPrefix }) => addressPrefix === dialled.address),
      )?.onMatch ??
      matcherList?.matchers.find(({ predicate }) =>
        (dialled.serverName ?? '').endsWith(predicate.singlePredicate.valueMatch.suffix),
      )?.onMatch
    return follow(found ?? onNoMatch)
  }
  return evaluate(json as Matcher)
}

const at = (chain: string, port: number, ...addresses: readonly string[]): ChainSelector => ({
  chain,
  port,
  ranges: addresses.map(hostRange),
})
const tls = (chain: string, ...serverNames: readonly string[]): ChainSelector => ({
  chain,
  port: 443,
  ranges: [],
  serverNames,
})

describe('the choice of a filter chain', () => {
  const mesh = [at('shared', 80, '10.0.0.1'), at('own', 80, '10.0.0.2'), at('shared', 80, 'fd00::1')]

  it.each([
    ['10.0.0.1', 'shared'],
    ['fd00::1', 'shared'],
    ['10.0.0.2', 'own'],
    ['10.0.0.3', undefined],
  ])('gives %s the chain %s', (address, chain) => {
    expect(chosen(mesh, { port: 80, address })).toBe(chain)
    expect(chosen(mesh, { port: 81, address })).toBeUndefined()
  })

  it('prefers an address to a chain for any address of its port', () => {
    const selectors = [...mesh, at('outside', 80)]
    expect(chosen(selectors, { port: 80, address: '10.0.0.1' })).toBe('shared')
    expect(chosen(selectors, { port: 80, address: '10.0.0.3' })).toBe('outside')
  })

  it.each([
    ['api.example.com', 'exact'],
    ['www.example.com', 'wildcard'],
    ['a.deep.example.com', 'deeper'],
    ['example.com', 'any'],
    ['other.org', 'any'],
  ])('gives the server name %s to %s', (serverName, chain) => {
    const selectors = [
      tls('wildcard', '*.example.com'),
      tls('exact', 'API.example.com'),
      tls('deeper', '*.deep.example.com'),
      tls('any'),
      at('service', 443, '10.0.0.1'),
      at('plain', 443),
    ]
    expect(chosen(selectors, { port: 443, address: '192.0.2.1', serverName })).toBe(chain)
    expect(chosen(selectors, { port: 443, address: '10.0.0.1', serverName })).toBe('service')
    expect(chosen(selectors, { port: 443, address: '192.0.2.1' })).toBe('plain')
  })

  it('chooses by server name between connections to the addresses of one service', () => {
    const named = (chain: string, ...serverNames: readonly string[]): ChainSelector => ({
      ...at(chain, 443, '10.0.0.3', 'fd00::3'),
      serverNames,
    })
    const selectors = [
      at('rest', 443, '10.0.0.3', 'fd00::3'),
      named('exact', 'a.example'),
      named('below', '*.example'),
      at('other', 443, '10.0.0.4'),
      tls('outside', 'a.example'),
    ]
    const chain = (address: string, serverName?: string): string | undefined =>
      chosen(selectors, { port: 443, address, ...(serverName === undefined ? {} : { serverName }) })
    expect(chain('10.0.0.3', 'a.example')).toBe('exact')
    expect(chain('fd00::3', 'b.example')).toBe('below')
    expect(chain('10.0.0.3', 'b.elsewhere')).toBe('rest')
    expect(chain('10.0.0.3')).toBe('rest')
    expect(chain('10.0.0.4', 'a.example')).toBe('other')
    expect(chain('192.0.2.1', 'a.example')).toBe('outside')
  })

  it('gives a server name that nothing stands for to the default chain', () => {
    expect(
      chosen([tls('exact', 'a.example.com')], { port: 443, address: '192.0.2.1', serverName: 'b.example.com' }),
    ).toBeUndefined()
    expect(chosen([tls('any')], { port: 443, address: '192.0.2.1' })).toBeUndefined()
  })
})
