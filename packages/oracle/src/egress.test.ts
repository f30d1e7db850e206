import { describe, expect, it } from '@jest/globals'

import type { OracleObject } from './objects.js'
import { Oracle } from './oracle.js'

const shop = (kind: string, name: string, spec: unknown): OracleObject => ({
  kind,
  metadata: { name, namespace: 'shop' },
  spec,
})
const config = (enableEgress: boolean, enableEgressPolicy = true): OracleObject =>
  shop('MeshConfig', 'm', { traffic: { enableEgress }, featureFlags: { enableEgressPolicy } })
const routes = shop('HTTPRouteGroup', 'routes', {
  matches: [
    { name: 'a', pathRegex: '/a' },
    { name: 'broken', pathRegex: '(' },
    { name: 'never', headers: [{ 'a b': '.*' }] },
  ],
})
const group = (name: string) => ({ apiGroup: 'specs.smi-spec.io/v1alpha4', kind: 'HTTPRouteGroup', name })
const egress = (name: string, hosts: readonly string[], matches: readonly unknown[] = []): OracleObject =>
  shop('Egress', name, {
    sources: [{ kind: 'ServiceAccount', name: 'client', namespace: 'shop' }],
    hosts,
    ports: [{ number: 80, protocol: 'http' }],
    matches,
  })

function ask(
  objects: readonly OracleObject[],
  { from = 'client', host = 'www.example.com', port = 80, target = '/a?q', method = 'GET' } = {},
): string {
  const request = { method, target, headers: {} }
  return new Oracle(objects).decideEgress({ from: { namespace: 'shop', name: from }, host, port, request }).outcome
}

describe('the oracle on Egress', () => {
  const named = [egress('e', ['WWW.example.com', '*.below.test'])]

  it.each([
    ['a host that is named', {}, 'allow'],
    ['a host in other letters', { host: 'www.EXAMPLE.com' }, 'allow'],
    ['another host', { host: 'example.com' }, 'deny'],
    ['a name below a domain', { host: 'a.b.below.test' }, 'allow'],
    ['the domain itself', { host: 'below.test' }, 'deny'],
    ['another port', { port: 81 }, 'deny'],
    ['another caller', { from: 'thief' }, 'deny'],
  ])('answers for %s', (_what, question, outcome) => {
    expect(ask(named, question)).toBe(outcome)
  })

  it('is limited by route groups, and widened by no reference that leads nowhere', () => {
    const limited = [routes, egress('e', ['www.example.com'], [group('routes')])]
    expect(ask(limited)).toBe('allow')
    expect(ask(limited, { target: '/b' })).toBe('deny')
    expect(ask([routes, egress('e', ['www.example.com'], [group('none')])])).toBe('deny')
    expect(ask([routes, egress('e', ['*'], [group('none'), group('routes')])], { target: '/b' })).toBe('deny')
  })

  it('adds up the objects for one host, and looks at the closest host alone', () => {
    const both = [routes, egress('e', ['www.example.com'], [group('routes')]), egress('f', ['www.example.com'])]
    expect(ask(both, { target: '/b' })).toBe('allow')
    const wider = [routes, egress('e', ['www.example.com'], [group('routes')]), egress('f', ['*.example.com', '*'])]
    expect(ask(wider, { target: '/b' })).toBe('deny')
    expect(ask(wider, { target: '/b', host: 'api.example.com' })).toBe('allow')
    // What opens nothing stands in the way of nothing.
    expect(ask([egress('e', ['www.example.com'], [group('none')]), egress('f', ['*'])])).toBe('allow')
  })

  it('lets everything out with global egress but what a host that is named limits', () => {
    const limited = [config(true), routes, egress('e', ['www.example.com'], [group('routes')])]
    expect(ask(limited, { target: '/b' })).toBe('deny')
    expect(ask(limited, { target: '/b', port: 81 })).toBe('allow')
    expect(ask([config(true), routes, egress('e', ['*'], [group('routes')])], { target: '/b' })).toBe('allow')
  })

  it('has no effect where the feature is off', () => {
    expect(ask([config(false, false), ...named])).toBe('deny')
    expect(ask([config(false), ...named])).toBe('allow')
  })
})
