import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { partArbitraries, sortedList, TRUST_DOMAIN } from '../../test/arbitraries.js'
import { isAllowed, type Request } from '../../test/decide.js'
import { PartBag } from '../../test/part-bag.js'
import type { Principal } from '../identity.js'
import { denyForm, removesAccess, removesIngressAccess } from './access.js'
import { requirementsOf } from '../requirements.js'
import { checkPart } from './invariants.js'
import { compareCanonical, compareText } from './order.js'
import type { HttpAllowRule, InboundPart, PartHash, PrincipalsPart, RouteMatch } from './parts.js'

// Few values, so that rules meet: with many, every change would remove access and nothing would be learned.
const callerNames = ['a.x', 'b.x', 'c.y'].map((name) => `${name}.${TRUST_DOMAIN}` as Principal)
const caller = fc.constantFrom(...callerNames)
const match: fc.Arbitrary<RouteMatch> = fc.record(
  {
    path: fc.constantFrom(
      { type: 'exact', value: '/a' } as const,
      { type: 'prefix', value: '/' } as const,
      { type: 'regex', value: '/[ab]' } as const,
    ),
    methods: sortedList(fc.constantFrom('GET', 'POST'), compareText, { minLength: 1 }),
    headers: sortedList(
      fc.constantFrom(
        { name: 'x', match: { type: 'present' } } as const,
        { name: 'x', match: { type: 'exact', value: '1' } } as const,
        { name: 'y', match: { type: 'exact', value: '1' }, invert: true } as const,
      ),
      compareCanonical,
      { minLength: 1 },
    ),
  },
  { requiredKeys: [] },
)
const principals: fc.Arbitrary<PrincipalsPart> = fc.oneof(
  fc.constant({ kind: 'principals', id: 'all', match: 'trustDomain', trustDomain: TRUST_DOMAIN } as const),
  sortedList(caller, compareText).map(
    (list) => ({ kind: 'principals', id: 'some', match: 'list', principals: list }) as const,
  ),
)
const request: fc.Arbitrary<Request> = fc.record({
  caller,
  path: fc.constantFrom('/a', '/b', '/c'),
  method: fc.constantFrom('GET', 'POST', 'PUT'),
  headers: fc.record({ x: fc.constantFrom('1', '2'), y: fc.constantFrom('1', '2') }, { requiredKeys: [] }),
})

const rules = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.record({ match, who: principals }), { minLength: 1, maxLength: 4 }) },
  { weight: 1, arbitrary: principals },
  { weight: 1, arbitrary: fc.constant('deny' as const) },
)

const bag = new PartBag()

function httpPart(allow: readonly HttpAllowRule[]): InboundPart {
  return inbound({ kind: 'http', hosts: [], allow, routeLimits: [] })
}

function inbound(form: InboundPart['rules']): InboundPart {
  return {
    kind: 'inbound',
    id: 'x/s|80',
    service: { namespace: 'x', name: 's' },
    port: 80,
    targetPort: 80,
    protocol: form.kind === 'tcp' ? 'tcp' : 'http',
    serverNames: ['s.x.svc.cluster.local'],
    rules: form,
  }
}

const part: fc.Arbitrary<InboundPart> = rules.map((form) => {
  if (form === 'deny') return inbound({ kind: 'deny' })
  if ('kind' in form) return inbound({ kind: 'tcp', allow: bag.add(form) })
  return httpPart(form.map((rule) => ({ match: rule.match, allow: bag.add(rule.who) })))
})

const lookup = (hash: PartHash): PrincipalsPart => {
  const found = bag.get(hash)
  if (found.kind !== 'principals') throw new Error(`${hash} names no principals`)
  return found
}

describe('removesAccess', () => {
  it('never says no when a request that was allowed is refused', () => {
    fc.assert(
      fc.property(part, part, fc.array(request, { minLength: 20, maxLength: 20 }), (before, after, requests) => {
        fc.pre(!removesAccess(before, after, lookup))
        for (const asked of requests) {
          if (isAllowed(before, asked, lookup)) expect(isAllowed(after, asked, lookup)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('says no for an equal part', () => {
    fc.assert(
      fc.property(part, (same) => {
        expect(removesAccess(same, same, lookup)).toBe(false)
      }),
    )
  })

  it('says no when rules are added', () => {
    fc.assert(
      fc.property(part, part, (before, more) => {
        fc.pre(before.rules.kind === 'http' && more.rules.kind === 'http')
        const both = [...allowOf(more), ...allowOf(before)]
        expect(removesAccess(before, httpPart(both), lookup)).toBe(false)
      }),
    )
  })

  it('says no when callers are added to a rule, also by splitting them over rules', () => {
    fc.assert(
      fc.property(match, sortedList(caller, compareText), sortedList(caller, compareText), (where, some, others) => {
        const allow = (list: readonly Principal[]) =>
          bag.add({ kind: 'principals', id: 'l', match: 'list', principals: list })
        const before = httpPart([{ match: where, allow: allow([...new Set([...some, ...others])].sort()) }])
        const after = httpPart([
          { match: where, allow: allow(some) },
          { match: where, allow: allow(others) },
        ])
        expect(removesAccess(before, after, lookup)).toBe(false)
      }),
    )
  })

  it('says no when a condition is dropped', () => {
    fc.assert(
      fc.property(match, principals, fc.constantFrom('path', 'methods', 'headers'), (where, who, name) => {
        const allow = bag.add(who)
        const { [name]: _, ...rest } = where as Record<string, unknown>
        expect(removesAccess(httpPart([{ match: where, allow }]), httpPart([{ match: rest, allow }]), lookup)).toBe(
          false,
        )
      }),
    )
  })

  it('is true when a rule with callers is removed without a substitute', () => {
    fc.assert(
      fc.property(match, caller, (where, who) => {
        const allow = bag.add({ kind: 'principals', id: 'l', match: 'list', principals: [who] })
        const other = bag.add({
          kind: 'principals',
          id: 'l',
          match: 'list',
          principals: callerNames.filter((name) => name !== who),
        })
        expect(
          removesAccess(httpPart([{ match: where, allow }]), httpPart([{ match: {}, allow: other }]), lookup),
        ).toBe(true)
      }),
    )
  })

  it('is transitive: two steps that remove nothing remove nothing together', () => {
    fc.assert(
      fc.property(part, part, part, (first, second, third) => {
        fc.pre(!removesAccess(first, second, lookup) && !removesAccess(second, third, lookup))
        expect(removesAccess(first, third, lookup)).toBe(false)
      }),
      { numRuns: 200 },
    )
  })

  const everyone = bag.add({ kind: 'principals', id: 'all', match: 'trustDomain', trustDomain: TRUST_DOMAIN })
  const few = bag.add({ kind: 'principals', id: 'few', match: 'list', principals: callerNames })
  const noCallers = bag.add({ kind: 'principals', id: 'none', match: 'list', principals: [] })
  const open = httpPart([{ match: {}, allow: everyone }])
  const authorization = { host: 'a', port: 1, statPrefix: 'a', timeoutMs: 1, failureModeAllow: true }

  it.each<[string, InboundPart, InboundPart | undefined, boolean]>([
    ['the part goes', open, undefined, true],
    ['the part is denied', open, denyForm(open), true],
    ['a denied part goes', denyForm(open), undefined, false],
    ['a denied part is opened', denyForm(open), open, false],
    ['a list opens to everyone', httpPart([{ match: {}, allow: few }]), open, false],
    ['everyone shrinks to all names that are known', open, httpPart([{ match: {}, allow: few }]), true],
    [
      'a rule without callers is removed',
      httpPart([{ match: {}, allow: noCallers }]),
      httpPart([{ match: { methods: ['GET'] }, allow: few }]),
      false,
    ],
    [
      'HTTP becomes TCP for all callers',
      httpPart([{ match: {}, allow: few }]),
      inbound({ kind: 'tcp', allow: everyone }),
      false,
    ],
    ['TCP becomes HTTP', inbound({ kind: 'tcp', allow: few }), open, true],
    ['an SNI name goes', open, { ...open, serverNames: [] }, true],
    ['an SNI name comes', open, { ...open, serverNames: [...open.serverNames, 'z'] }, false],
    ['the port moves', open, { ...open, targetPort: 81 }, true],
    ['the service is another', open, { ...open, id: 'x/t|80' }, true],
    ['an authorizer comes', open, { ...open, externalAuthorization: authorization }, true],
    [
      'an authorizer fails closed',
      { ...open, externalAuthorization: authorization },
      { ...open, externalAuthorization: { ...authorization, failureModeAllow: false } },
      true,
    ],
    ['an authorizer goes', { ...open, externalAuthorization: authorization }, open, false],
    [
      'an authorizer stays',
      { ...open, externalAuthorization: authorization },
      { ...open, externalAuthorization: { ...authorization } },
      false,
    ],
    [
      'a limit comes',
      open,
      { ...open, rateLimits: { tcp: { bucket: { tokens: 1, intervalMs: 1, burst: 0 } } } },
      false,
    ],
  ])('decides when %s', (_what, before, after, expected) => {
    expect(removesAccess(before, after, lookup)).toBe(expected)
  })

  it('takes principals that are forgotten for many before and for none after', () => {
    const forgotten = 'f'.repeat(32) as PartHash
    const known = (hash: PartHash) => (hash === forgotten ? undefined : lookup(hash))
    const before = httpPart([{ match: {}, allow: forgotten }])
    expect(removesAccess(before, open, known)).toBe(true)
    expect(removesAccess(httpPart([{ match: {}, allow: few }]), before, known)).toBe(true)
    expect(removesAccess(before, before, known)).toBe(false)
  })

  it.each([`x.${TRUST_DOMAIN}`, TRUST_DOMAIN, `a.x${TRUST_DOMAIN}`])(
    'does not take %s for a service identity of the trust domain',
    (name) => {
      const principalsOf = { kind: 'principals', id: 'l', match: 'list', principals: [name as Principal] } as const
      expect(removesAccess(httpPart([{ match: {}, allow: bag.add(principalsOf) }]), open, lookup)).toBe(true)
    },
  )
})

describe('removesIngressAccess', () => {
  it('says no for an equal part, and yes for one that goes', () => {
    fc.assert(
      fc.property(partArbitraries.ingress, (ingress) => {
        expect(removesIngressAccess(ingress, ingress, lookup)).toBe(false)
        expect(removesIngressAccess(ingress, undefined, lookup)).toBe(true)
      }),
    )
  })

  const gateway = bag.add({ kind: 'principals', id: 'g', match: 'list', principals: ['gateway.example' as Principal] })
  const gateways = bag.add({
    kind: 'principals',
    id: 'g',
    match: 'list',
    principals: ['gateway.example', 'other.example'] as Principal[],
  })
  const before = {
    kind: 'ingress' as const,
    id: 'x/s|80',
    service: { namespace: 'x', name: 's' },
    port: 80,
    targetPort: 80,
    protocol: 'http' as const,
    sources: ['10.0.0.0/8'],
    tls: 'mtls' as const,
    serverNames: ['a.example'],
    allow: gateway,
    matches: [{ path: { type: 'prefix' as const, value: '/a' } }],
    routeLimits: [],
  }

  it.each([
    ['a source comes', { sources: ['10.0.0.0/8', '11.0.0.0/8'] }, false],
    ['a source goes', { sources: ['11.0.0.0/8'] }, true],
    ['a name comes', { serverNames: ['a.example', 'b.example'] }, false],
    ['any name will do', { serverNames: [] }, false],
    ['a name goes', { serverNames: ['b.example'] }, true],
    ['a principal comes', { allow: gateways }, false],
    ['paths widen', { matches: [{}] }, false],
    ['paths change', { matches: [{ path: { type: 'prefix' as const, value: '/b' } }] }, true],
    ['TLS changes', { tls: 'tls' as const }, true],
  ])('decides when %s', (_what, change, expected) => {
    expect(removesIngressAccess(before, { ...before, ...change }, lookup)).toBe(expected)
  })

  it('says yes when any name was welcome and only some are', () => {
    expect(removesIngressAccess({ ...before, serverNames: [] }, before, lookup)).toBe(true)
  })

  it('says yes when a principal goes', () => {
    expect(removesIngressAccess({ ...before, allow: gateways }, before, lookup)).toBe(true)
  })
})

describe('denyForm', () => {
  it('keeps the selector of the port, denies every caller, and needs no optional feature', () => {
    fc.assert(
      fc.property(partArbitraries.inbound, (open) => {
        const denied = denyForm(open)
        expect(checkPart(denied)).toEqual([])
        const { kind, id, service, port, targetPort, protocol, serverNames } = open
        expect(denied).toEqual({ kind, id, service, port, targetPort, protocol, serverNames, rules: { kind: 'deny' } })
        expect(requirementsOf(denied).map(({ feature }) => feature)).toEqual([`protocol:${open.protocol}`])
        expect(denyForm(denied)).toEqual(denied)
      }),
    )
  })
})

function allowOf({ rules: form }: InboundPart): readonly HttpAllowRule[] {
  return form.kind === 'http' ? form.allow : []
}
