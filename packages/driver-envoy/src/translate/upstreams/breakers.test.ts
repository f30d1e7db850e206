import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import type { Part, PartHash, ProxyPolicy, StatisticalCircuitBreaker } from '@osm-ts/driver-api/policy'

import { pinPolicy } from '../../../test/pin-policy.js'
import { resourcesAsJson } from '../../../test/resources-as-json.js'
import type { ProxyResources } from '../../resources/types.js'
import { statisticalBreakerScript } from './statistical-breaker-script.js'
import { Translator } from '../translator.js'

function read(file: string): ProxyPolicy {
  return JSON.parse(readFileSync(new URL(`../../testdata/in/${file}`, import.meta.url), 'utf8')) as ProxyPolicy
}

/** What becomes of a document with the given breakers, by id of the upstream, and no others. */
function translated(
  file: string,
  breakers: Readonly<Record<string, StatisticalCircuitBreaker>>,
  translator = new Translator(),
): ProxyResources {
  const document = read(file)
  const edit = (part: Part): Part => {
    if (part.kind !== 'upstream') return part
    const { circuitBreaker: _before, ...bare } = part
    const circuitBreaker = breakers[part.id]
    return circuitBreaker === undefined ? bare : { ...bare, circuitBreaker }
  }
  const parts = Object.fromEntries(Object.entries(document.parts).map(([hash, part]) => [hash, edit(part)]))
  const pinned = pinPolicy({ ...document, parts })
  const lookup = (hash: PartHash): Part => {
    const part = pinned.parts[hash]
    if (part === undefined) throw new Error(`the document has no part ${hash}`)
    return part
  }
  return translator.translate(pinned.proxy, lookup, 1)
}

const breaker: StatisticalCircuitBreaker = {
  statWindowMs: 1000,
  minRequests: 2,
  degradedWindowMs: 500,
  errorAmount: 3,
  degradedStatusCode: 409,
  degradedBody: 'later',
}

/** Contexts of the Lua filter, in the order in which routes name them. */
function contexts(resources: ProxyResources): readonly unknown[] {
  const found: unknown[] = []
  JSON.stringify(resourcesAsJson(resources).route, (key, value: unknown) => {
    if (key === 'filterContext') found.push(value)
    return value
  })
  return found
}

function text(resources: ProxyResources, type: 'listener' | 'route'): string {
  return JSON.stringify(resourcesAsJson(resources)[type])
}

describe('statistical breakers', () => {
  it.each(['circuit-breaker.json', 'circuit-breaker-gateway.json', 'circuit-breaker-explicit.json'])(
    'cost proxies nothing that have none: %s',
    (file) => {
      const resources = translated(file, {})
      expect(text(resources, 'listener') + text(resources, 'route')).not.toMatch(/envoy\.filters\.http\.lua/)
    },
  )

  it('are the same program everywhere, which no text of a user is part of', () => {
    const resources = translated('circuit-breaker.json', {
      'bookstore/bookstore-v1|14001': { ...breaker, degradedBody: ']] os.exit(1)' },
    })
    const programs = [...text(resources, 'listener').matchAll(/"inlineString":("(?:[^"\\]|\\.)*")/g)]
    expect(programs.length).toBeGreaterThan(0)
    for (const [, program = ''] of programs) expect(JSON.parse(program)).toBe(statisticalBreakerScript)
    expect(text(resources, 'listener')).not.toContain('os.exit')
    expect(text(resources, 'route')).not.toContain('sourceCode')
    expect(contexts(resources).length).toBeGreaterThan(0)
    for (const context of contexts(resources)) expect(context).toMatchObject({ body: ']] os.exit(1)' })
  })

  it('change routes when their settings change, and no listener', () => {
    const [before, after] = [409, 429].map((degradedStatusCode) =>
      translated('circuit-breaker.json', { 'bookstore/bookstore-v1|14001': { ...breaker, degradedStatusCode } }),
    )
    expect(after?.types.listener.version).toBe(before?.types.listener.version)
    expect(after?.types.route.version).not.toBe(before?.types.route.version)
  })

  it('differ from earlier ones for a translator with a cache', () => {
    const translator = new Translator()
    for (const breakers of [{}, { 'bookstore/bookstore-v2|14001': breaker }, {}]) {
      const remembered = translated('circuit-breaker-explicit.json', breakers, translator)
      const { listener, route } = translated('circuit-breaker-explicit.json', breakers).types
      expect(remembered.types.listener.version).toBe(listener.version)
      expect(remembered.types.route.version).toBe(route.version)
    }
  })

  it('are in chains that lead to what has one, and in no others', () => {
    const { listener } = resourcesAsJson(
      translated('circuit-breaker.json', { 'bookstore/bookstore-v2|14001': breaker }),
    )
    const { filterChains } = JSON.parse(JSON.stringify(listener['outbound-listener'])) as {
      readonly filterChains: readonly { readonly name: string }[]
    }
    const broken = filterChains.filter((chain) => JSON.stringify(chain).includes('envoy.filters.http.lua'))
    expect(broken.map(({ name }) => name)).toEqual([
      'outbound_bookstore/bookstore-v2_14001_http',
      'outbound_bookstore/bookstore_14001_http',
    ])
  })

  it('count for the upstream, behind gateways as well', () => {
    const resources = translated('circuit-breaker-gateway.json', { 'api.example.com:80': breaker })
    expect(contexts(resources)).toEqual([
      {
        breaker: {
          upstream: 'api.example.com:80',
          statWindowMs: 1000,
          minRequests: 2,
          degradedWindowMs: 500,
          errorAmount: 3,
        },
        status: '409',
        body: 'later',
      },
    ])
    expect(text(resources, 'route')).toMatch(
      /"name":"api\.example\.com:80\|tunnel\|[^"]*","weight":\d+,"typedPerFilter/,
    )
  })

  const contextOf = (settings: Partial<StatisticalCircuitBreaker>): unknown =>
    contexts(translated('circuit-breaker-gateway.json', { 'api.example.com:80': { ...breaker, ...settings } }))[0]

  it.each([
    [100, '503', 'later'],
    [199, '503', 'later'],
    [200, '200', 'later'],
    [204, '204', ''],
    [205, '205', ''],
    [304, '304', ''],
    [599, '599', 'later'],
  ])('answer with a status that ends an answer: %i', (degradedStatusCode, status, body) => {
    expect(contextOf({ degradedStatusCode })).toMatchObject({ status, body })
  })

  it('leave out thresholds that open nothing', () => {
    expect(contextOf({ errorAmount: 0, errorRatio: 0.5, slowRatio: 0.5 })).toMatchObject({
      breaker: expect.not.objectContaining({ errorAmount: expect.anything(), slowRatio: expect.anything() }),
    })
    expect(contextOf({ slowThresholdMs: 10, slowRatio: 0.5, slowAmount: 0 })).toMatchObject({
      breaker: { slowThresholdMs: 10, slowRatio: 0.5, errorAmount: 3 },
    })
  })
})
