import { describe, expect, it } from '@jest/globals'

import { MeshFixture, objectsOf } from '../../../../test/catalog/mesh-fixture.js'
import { readObjects } from '../../../spec/index.js'

/** Maximum processor time of a computation. Without the bounds some of these take minutes, and memory without end. */
const MAX_CPU_MS = 4_000
/** Maximum size of the policy of a sidecar in another namespace, as JSON. */
const MAX_POLICY_BYTES = 12 << 20

const GATEWAY = 'gateway.networking.k8s.io/v1'
const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const object = (apiVersion: string, kind: string, name: string, spec: unknown, namespace = 'aaa'): string =>
  JSON.stringify({ apiVersion, kind, metadata: { name, namespace, labels: { app: 'web' } }, spec })
const workload = (namespace: string): string =>
  object(
    'standalone.openservicemesh.io/v1alpha1',
    'Workload',
    'web',
    { serviceAccountName: 'web', command: ['x'] },
    namespace,
  )
const service = (name: string, ports: number, appProtocol = 'http'): string =>
  object('v1', 'Service', name, {
    selector: { app: 'web' },
    ports: times(ports, (index) => ({ name: `p${index}`, port: 1000 + index, targetPort: 8080, appProtocol })),
  })
const parent = (name: string) => ({ group: '', kind: 'Service', name })
const backend = (name: string) => ({ ...parent(name), port: 1000 })
const route = (kind: string, name: string, rules: unknown, more: object = {}): string =>
  object(kind === 'TLSRoute' ? `${GATEWAY}alpha2` : GATEWAY, kind, name, {
    parentRefs: [parent('wide')],
    rules,
    ...more,
  })

interface Outcome {
  readonly cpuMs: number
  readonly policyBytes: number
  readonly refused: readonly (string | undefined)[]
  readonly outbound: string
}

const config = object(
  'config.openservicemesh.io/v1alpha2',
  'MeshConfig',
  'osm-mesh-config',
  { traffic: { enablePermissiveTrafficPolicyMode: true } },
  'osm-system',
)

/** Adds objects to a mesh of two namespaces, and measures what they cost. */
function computed(objects: readonly string[]): Outcome {
  const fixture = new MeshFixture()
  fixture.apply(objectsOf([config, workload('aaa'), workload('bank'), service('web', 1)].join('\n---\n')))
  const added = objectsOf(objects.join('\n---\n'))
  const started = process.cpuUsage()
  fixture.apply(added)
  const problems = fixture.catalog.problems()
  const { user, system } = process.cpuUsage(started)
  const policy = fixture.document('bank/web-0')
  return {
    cpuMs: (user + system) / 1000,
    policyBytes: JSON.stringify(policy).length,
    refused: problems.filter(({ code }) => code === 'OSM_SPEC_OBJECT_BOUND').map(({ object: of }) => of?.name),
    outbound: JSON.stringify(Object.values(policy.parts).find(({ id }) => id === 'aaa/wide|1000')),
  }
}

function expectBounded({ cpuMs, policyBytes }: Outcome): void {
  expect(cpuMs).toBeLessThan(MAX_CPU_MS)
  expect(policyBytes).toBeLessThan(MAX_POLICY_BYTES)
}

const shares = times(16, (index) => ({
  ...backend('web'),
  filters: [
    { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'x-share', value: `${index}` }] } },
  ],
}))

describe('routes of some kilobytes on a Service of many ports', () => {
  it('a GRPCRoute of too many matches and backends is ignored and is reported', () => {
    const matches = (rule: number) => times(64, (index) => ({ method: { service: `S${rule}x${index}` } }))
    const outcome = computed([
      service('wide', 100),
      route(
        'GRPCRoute',
        'r',
        times(16, (rule) => ({ matches: matches(rule), backendRefs: shares })),
      ),
    ])
    expect(outcome.refused).toEqual(['r'])
    expect(outcome.outbound).toContain('aaa/wide|8080')
    expectBounded(outcome)
  })

  it('long texts of a route count more than once', () => {
    const matches = times(8, (index) => ({
      headers: times(4, (header) => ({ name: `x-${header}`, value: `${index}`.repeat(4_000) })),
    }))
    const outcome = computed([
      service('wide', 100),
      route('HTTPRoute', 'r', [{ matches, backendRefs: [backend('web')] }]),
    ])
    expect(outcome.refused).toEqual(['r'])
    expectBounded(outcome)
  })

  it('routes that say too much together apply in the order of their names, and the others are reported', () => {
    const matches = (name: string) => times(50, (index) => ({ path: { value: `/${name}/${index}` } }))
    const outcome = computed([
      service('wide', 100),
      ...['a', 'b', 'c', 'd', 'e', 'f'].map((name) =>
        route('HTTPRoute', name, [{ matches: matches(name), backendRefs: [backend('web')] }]),
      ),
    ])
    expect(outcome.refused).toEqual(['e', 'f'])
    expect(outcome.outbound).toContain('"/d/49"')
    expect(outcome.outbound).not.toContain('"/e/0"')
    expectBounded(outcome)
  })

  it('hundreds of small routes on hundreds of ports cost what the bound permits', () => {
    const outcome = computed([
      service('wide', 400),
      ...times(400, (index) =>
        route('HTTPRoute', `r${String(index).padStart(4, '0')}`, [
          { matches: [{ path: { value: `/${index}` } }], backendRefs: [backend('web')] },
        ]),
      ),
    ])
    expect(outcome.refused).toHaveLength(350)
    expectBounded(outcome)
  })

  it('a TLSRoute of a thousand names is ignored and is reported', () => {
    const outcome = computed([
      service('wide', 100, 'tcp'),
      route('TLSRoute', 'r', [{ backendRefs: [backend('wide')] }], {
        hostnames: times(1000, (index) => `h${index}.example`),
      }),
    ])
    expect(outcome.refused).toEqual(['r'])
    expectBounded(outcome)
  })

  it('a TrafficSplit of too many matches and backends is ignored and is reported', () => {
    const outcome = computed([
      service('wide', 100),
      ...times(10, (index) => service(`b${index}`, 100)),
      object('specs.smi-spec.io/v1alpha4', 'HTTPRouteGroup', 'g', {
        matches: times(900, (index) => ({ name: `m${index}`, headers: [{ 'x-a': `v${index}` }] })),
      }),
      object('split.smi-spec.io/v1alpha4', 'TrafficSplit', 's', {
        service: 'wide',
        backends: times(10, (index) => ({ service: `b${index}`, weight: 1 })),
        matches: [{ kind: 'HTTPRouteGroup', name: 'g' }],
      }),
    ])
    expect(outcome.refused).toEqual(['s'])
    expectBounded(outcome)
  })
})

describe('values that proxies refuse a whole configuration for, or that hold requests without end', () => {
  const set = (headers: readonly object[]): string =>
    route('HTTPRoute', 'r', [
      {
        filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: { set: headers } }],
        backendRefs: [backend('web')],
      },
    ])

  it.each([
    ['1,001 headers', times(1_001, (index) => ({ name: `x-${index}`, value: 'v' }))],
    ['a header of 20,000 characters', [{ name: 'x-long', value: 'v'.repeat(20_000) }]],
    ['a name of 20,000 characters', [{ name: 'x'.repeat(20_000), value: 'v' }]],
  ])('a route that sets %s is not read, as the Gateway API does not accept it either', (_what, headers) => {
    const { objects, problems } = readObjects(set(headers))
    expect(objects).toEqual([])
    expect(problems).toMatchObject([{ code: 'OSM_SPEC_SCHEMA', object: { kind: 'HTTPRoute', name: 'r' } }])
  })

  it('requests of a rule with more than 100 repetitions are answered 500, and the route is reported', () => {
    const retrying = (attempts: number): MeshFixture => {
      const fixture = new MeshFixture()
      const rule = { retry: { codes: [503], attempts }, backendRefs: [backend('wide')] }
      fixture.apply(
        objectsOf([config, workload('aaa'), service('wide', 1), route('HTTPRoute', 'r', [rule])].join('\n---\n')),
      )
      return fixture
    }
    const part = (fixture: MeshFixture) =>
      Object.values(fixture.document('aaa/web-0').parts).find(({ id }) => id === 'aaa/wide|1000')
    expect(part(retrying(100))).toMatchObject({
      rules: { routes: [{ retries: { numRetries: 100 } }] },
    })
    const tooMany = retrying(4_294_967_295)
    expect(part(tooMany)).toMatchObject({ rules: { routes: [{ targets: [], errorWeight: 1 }] } })
    expect(tooMany.catalog.problems()).toMatchObject([
      { code: 'OSM_SPEC_ROUTE_VALUE', field: 'spec.rules[0].retry.attempts' },
    ])
  })
})
