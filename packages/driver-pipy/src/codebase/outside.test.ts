import { describe, expect, it } from '@jest/globals'

import { destinationOf, isStillOpen } from '../../codebase/outside.js'

interface Rule {
  readonly id: string
  readonly port: number
  readonly protocol: string
  readonly hosts?: readonly string[]
  /** Prefixes of addresses. */
  readonly ranges?: readonly string[]
  readonly shares?: readonly { readonly upstream: string }[]
  readonly wayOut?: object
}

const runtimeOf = (egress: boolean, rules: readonly Rule[], othersWay?: object) => ({
  config: {
    egress,
    outside: rules.map(({ ranges = [], hosts = [], shares = [{ upstream: 'up' }], ...rule }) => ({
      ...rule,
      hosts,
      shares,
      ranges: ranges.map((prefix) => ({
        contains: (address: string) => address.startsWith(prefix),
        bitmask: prefix.length,
      })),
    })),
  },
  othersWay,
})

const conn = (port: number, extra: object = {}) => ({ dialled: { address: '10.0.0.1', port }, ...extra })
const kindOf = (runtime: object, connection: object): unknown => {
  const { kind, rule, named } = destinationOf(runtime, connection) as {
    readonly kind: string
    readonly rule?: Rule
    readonly named?: string
  }
  return [kind, rule?.id, named].filter((each) => each !== undefined).join(' ')
}
const hello = (...serverNames: readonly string[]) => ({ isTLS: true, hello: { serverNames } })

describe('what takes a connection to the outside', () => {
  const rules: readonly Rule[] = [
    { id: 'wide', port: 25, protocol: 'tcp', ranges: ['10.'] },
    { id: 'narrow', port: 25, protocol: 'tcp', ranges: ['10.0.0.'] },
    { id: 'any', port: 443, protocol: 'tcp' },
    { id: 'bank', port: 443, protocol: 'https', hosts: ['bank.test'] },
    { id: 'banks', port: 443, protocol: 'https', hosts: ['*.test'] },
    { id: 'web', port: 80, protocol: 'http', hosts: ['*'] },
  ]

  it('is the narrowest range, then the server name, then HTTP, then any', () => {
    const runtime = runtimeOf(false, rules)
    expect(kindOf(runtime, conn(25))).toBe('rule narrow')
    expect(kindOf(runtime, conn(443))).toBe('unknown')
    expect(kindOf(runtime, conn(443, { isTLS: true }))).toBe('named')
    expect(kindOf(runtime, conn(443, hello('BANK.test')))).toBe('rule bank bank.test:443')
    expect(kindOf(runtime, conn(443, hello('a.test')))).toBe('rule banks a.test:443')
    expect(kindOf(runtime, conn(443, hello()))).toBe('close')
    expect(kindOf(runtime, conn(443, { isTLS: false }))).toBe('rule any')
    expect(kindOf(runtime, conn(80))).toBe('http')
    expect(kindOf(runtime, conn(1))).toBe('close')
    expect(kindOf(runtimeOf(true, rules), conn(1))).toBe('others')
  })

  it('is what it was when the configuration has changed, or the connection ends', () => {
    const way = (mode: string, ...gateways: readonly string[]) => ({
      mode,
      shares: gateways.map((upstream) => ({ upstream })),
    })
    const gateway = { mode: 'socks5', upstream: { id: 'east' } }
    const mail = { id: 'mail', port: 25, protocol: 'tcp' }
    const direct = { upstream: { id: 'up' } }
    const open = (rule: Partial<Rule> | undefined, call: object): boolean =>
      isStillOpen(runtimeOf(true, rule === undefined ? [] : [{ ...mail, ...rule }]), conn(25), call) as boolean
    expect(open({}, direct)).toBe(true)
    expect(open({ id: 'other name' }, direct)).toBe(true)
    expect(open(undefined, direct)).toBe(false)
    expect(open({ protocol: 'http' }, direct)).toBe(false)
    expect(open({ protocol: 'https' }, direct)).toBe(false)
    expect(open({ shares: [{ upstream: 'else' }] }, direct)).toBe(false)
    expect(open({ wayOut: way('socks5', 'east') }, direct)).toBe(false)
    expect(open({ wayOut: way('socks5', 'east', 'west') }, { ...direct, gateway })).toBe(true)
    expect(open({ wayOut: way('socks5', 'west') }, { ...direct, gateway })).toBe(false)
    expect(open({ wayOut: way('http2tunnel', 'east') }, { ...direct, gateway })).toBe(false)
    expect(open({}, { ...direct, gateway })).toBe(false)
    const passing = { upstream: { id: 'passthrough' } }
    expect(isStillOpen(runtimeOf(true, []), conn(25), passing)).toBe(true)
    expect(isStillOpen(runtimeOf(false, []), conn(25), passing)).toBe(false)
    expect(isStillOpen(runtimeOf(true, [], way('socks5', 'east')), conn(25), passing)).toBe(false)
    expect(isStillOpen(runtimeOf(true, [], way('socks5', 'east')), conn(25), { ...passing, gateway })).toBe(true)
  })
})
