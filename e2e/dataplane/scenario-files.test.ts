import { describe, expect, it } from '@jest/globals'
import { declares } from '@osm-ts/driver-api/host'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import { createPipyDriver } from '@osm-ts/driver-pipy'
import { judge, needsOf, readScenario, readScenarios } from '@osm-ts/driver-testkit'

const head = 'title: t\nmodes: [explicit, transparent, pods]\nworkloads: [{ name: shop/client }]\n'
const step = (expectation: string): string => `${head}steps:\n  - title: s\n    expect:\n      - ${expectation}\n`

describe('scenario files', () => {
  it('can all be read', () => {
    expect(readScenarios().length).toBeGreaterThan(0)
  })

  it('need nothing that both Envoy and Pipy lack, on one of which every step of each is run', () => {
    const drivers = [createEnvoyDriver(), createPipyDriver()]
    const needed = readScenarios().flatMap(needsOf)
    expect(needed.length).toBeGreaterThan(0)
    expect(needed.filter((each) => !drivers.some(({ capabilities }) => declares(capabilities, each)))).toEqual([])
  })

  it('need the protocols that they call and the matchers that they have, and no others', () => {
    const needs = new Map(readScenarios().map((scenario) => [scenario.name, [...needsOf(scenario)].sort()]))
    // Its workloads serve other protocols too.
    expect(needs.get('http-connectivity')).toEqual(['protocol:http'])
    expect(needs.get('grpc')).toEqual(['path-match:regex', 'protocol:grpc', 'protocol:tcp'])
    expect(needs.get('tcp-server-first')).toEqual(['protocol:tcp-server-first'])
    expect(needs.get('smi-traffic-target')).toEqual(['path-match:exact', 'path-match:regex', 'protocol:http'])
    expect(needs.get('retry-policy')).toEqual(['per-try-timeout', 'protocol:http', 'retries'])
  })

  it.each([
    [
      'a field that does not exist',
      `${head}stepz: []\nsteps: []\n`,
      /^x\.yaml:4: stepz: Unexpected property \(known: title, /m,
    ],
    [
      'an unknown app',
      step('{ from: a, http: GET http://b }').replace('client }', 'client, ports: { m: { port: 1, app: ftp } } }'),
      /^x\.yaml:3: workloads\[0\]\.ports\.m\.app: /m,
    ],
    [
      'a field of an expectation',
      step('{ from: a, http: GET http://b, code: 3 }'),
      /^x\.yaml:7: steps\[0\]\.expect\[0\]\.code: Unexpected property \(known: /m,
    ],
    [
      'a URL without a method',
      step('{ from: a, http: http://b }'),
      /^x\.yaml:7: steps\[0\]\.expect\[0\]\.http: .*Method and URL/m,
    ],
    [
      'an expectation of no kind',
      step('{ from: a }'),
      /^x\.yaml:7: steps\[0\]\.expect\[0\]: needs exactly one of http, grpc/m,
    ],
    ['no expectation', `${head}steps: [{ title: s, expect: [] }]\n`, /steps\[0\]\.expect: /],
    [
      'a mode that is left out without a reason',
      step('{ from: a, http: GET http://b }').replace(', pods', ''),
      /^x\.yaml:2: modes: pods has to be a mode, or to have a reason/m,
    ],
    [
      'a mode with a reason against it',
      step('{ from: a, http: GET http://b }').replace('\nworkloads', '\nwithout: { explicit: none }\nworkloads'),
      /^x\.yaml:2: modes: explicit has to be a mode, or/m,
    ],
    [
      'a feature that no class has',
      step('{ from: a, http: GET http://b }').replace('\nworkloads', '\nneeds: [magic]\nworkloads'),
      /^x\.yaml:3: needs\[0\]: /m,
    ],
    [
      'an object that is removed and is not there',
      step('{ from: a, http: GET http://b }').replace('title: s', 'title: s\n    remove: [Egress shop/books]'),
      /^x\.yaml:6: steps\[0\]\.remove: there is no Egress shop\/books to remove/,
    ],
    ['no YAML', 'title: [', /^x\.yaml: /],
  ])('are refused with file, line and field for %s', (_what, text, message) => {
    expect(() => readScenario('x.yaml', text)).toThrow(message)
  })
})

describe('judging answers', () => {
  const http = { kind: 'http', from: 'a', http: 'GET http://b/' } as const
  const from = (server: string) => ({ status: 200, body: JSON.stringify({ server, headers: { a: '1' } }) })

  it('finds wrong statuses, servers, counts and headers', () => {
    expect(judge({ ...http, status: 200 }, [{ status: 503 }])).toEqual(['status 503 instead of 200'])
    expect(judge({ ...http, status: 'denied' }, [{ status: 0 }, { status: 403 }])).toEqual([])
    expect(judge({ ...http, status: 'denied' }, [{ status: 404 }])).toHaveLength(1)
    expect(judge({ ...http, statuses: { 200: 1, 429: [1, 2] } }, [{ status: 200 }, { status: 429 }])).toEqual([])
    expect(judge({ ...http, statuses: { 200: 2 } }, [{ status: 200 }, { status: 429 }])).toHaveLength(2)
    expect(judge({ ...http, server: 'b' }, [from('c')])).toEqual(['answered by c instead of b'])
    expect(judge({ ...http, seen: { headers: { a: '1', b: null } } }, [from('c')])).toEqual([])
    expect(judge({ ...http, seen: { headers: { a: '2' } } }, [from('c')])).toHaveLength(1)
    expect(judge({ ...http, responseHeaders: { x: 'y' } }, [from('c')])).toHaveLength(1)
  })

  it('allows shares five standard deviations, and none for a share of 0', () => {
    const answers = [...Array<string>(310).fill('b'), ...Array<string>(90).fill('c')].map(from)
    expect(judge({ ...http, shares: { b: 0.75, c: 0.25 } }, answers)).toEqual([])
    expect(judge({ ...http, shares: { b: 0.5, c: 0.5 } }, answers)).toHaveLength(2)
    expect(judge({ ...http, shares: { b: 1, c: 0 } }, answers)).toHaveLength(2)
  })

  it('tells open from closed connections', () => {
    const tcp = { kind: 'tcp', from: 'a', tcp: 'b:1' } as const
    expect(judge({ ...tcp, received: 'x' }, [{ status: 0, received: 'x', closed: false }])).toEqual([])
    expect(judge({ ...tcp, received: 'x' }, [{ status: 0, closed: true }])).toHaveLength(1)
    expect(judge({ ...tcp, closed: true }, [{ status: 0, error: 'ECONNREFUSED', closed: true }])).toEqual([])
    expect(judge({ ...tcp, closed: true }, [{ status: 0, closed: false }])).toHaveLength(1)
  })
})
