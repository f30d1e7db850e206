import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { PolicyProblem } from '@osm-ts/core'

import { bootstrapSecretName } from '../sidecar-volume.js'
import { MeshFixture } from '../../../core/test/catalog/mesh-fixture.js'
import { ManifestReader, type Manifest } from '../../test/isolation/manifest.js'

// Without the limits some of these objects take minutes, and others exhaust memory.
jest.setTimeout(600_000)

/** Maximum processor time of a computation. Without the limits it takes more than a hundred times as long. */
const MAX_CPU_MS = 4_000

const POLICY = 'policy.openservicemesh.io/v1alpha1'
const SPECS = 'specs.smi-spec.io/v1alpha4'

const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const object = (apiVersion: string, kind: string, name: string, spec: unknown, namespace = 'aaa'): Manifest => ({
  apiVersion,
  kind,
  metadata: { name, namespace },
  spec,
})
const account = { kind: 'ServiceAccount', name: 'web', namespace: 'aaa' }
const service = (name: string, ports: readonly unknown[], namespace = 'aaa'): Manifest =>
  object('v1', 'Service', name, { selector: { app: 'web' }, ports }, namespace)
const webPort = { name: 'http', port: 80, targetPort: 8080 }
/** The one pod of a namespace, as an injector makes it. */
function pod(namespace: string, number: number): Manifest {
  const uuid = `1111111${number}-0000-4000-8000-000000000000`
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-0', namespace, labels: { app: 'web', 'osm-proxy-uuid': uuid } },
    spec: {
      serviceAccountName: 'web',
      volumes: [{ name: 'bootstrap', secret: { secretName: bootstrapSecretName(uuid) } }],
      containers: [{ name: 'app', ports: [{ name: 'http', containerPort: 8080 }] }],
    },
    status: {
      phase: 'Running',
      podIPs: [{ ip: `10.1.0.${number}` }],
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  }
}
const routes = (count: number, name = 'g'): Manifest =>
  object(SPECS, 'HTTPRouteGroup', name, {
    matches: times(count, (index) => ({ name: `m${index}`, headers: [{ 'x-a': `v${index}` }] })),
  })
const egress = (name: string, spec: object): Manifest => object(POLICY, 'Egress', name, { sources: [account], ...spec })
const split = (name: string, spec: object): Manifest =>
  object('split.smi-spec.io/v1alpha4', 'TrafficSplit', name, { service: 'web', ...spec })
const target = (name: string, spec: object): Manifest =>
  object('access.smi-spec.io/v1alpha3', 'TrafficTarget', name, {
    destination: account,
    sources: [account],
    ...spec,
  })
const hosts = (count: number, prefix: string): readonly string[] => times(count, (index) => `${prefix}${index}.example`)
const ranges = (count: number, net: number): readonly unknown[] =>
  times(count, (index) => ({ kind: 'IPRange', name: `10.${net}.${index >> 8}.${index & 255}/32` }))

/** The mesh that all objects are added to. */
const mesh: readonly Manifest[] = [
  {
    apiVersion: 'config.openservicemesh.io/v1alpha2',
    kind: 'MeshConfig',
    metadata: { name: 'osm-mesh-config', namespace: 'osm-system' },
    spec: {
      traffic: { enablePermissiveTrafficPolicyMode: false },
      featureFlags: {
        enableEgressPolicy: true,
        enableIngressBackendPolicy: true,
        enableAccessControlPolicy: true,
        enableRetryPolicy: true,
      },
    },
  },
  ...['aaa', 'bank'].flatMap((namespace, number) => [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    pod(namespace, number + 1),
    service('web', [webPort], namespace),
  ]),
]

interface Outcome {
  readonly problems: readonly PolicyProblem[]
  readonly cpuMs: number
  readonly fixture: MeshFixture
}

/** Adds objects to the mesh and measures the computation. */
function computed(objects: readonly Manifest[]): Outcome {
  const reader = new ManifestReader()
  const fixture = new MeshFixture()
  fixture.apply(reader.read(mesh))
  const started = process.cpuUsage()
  fixture.apply(reader.read(objects))
  const problems = fixture.catalog.problems() as readonly PolicyProblem[]
  const { user, system } = process.cpuUsage(started)
  return { problems, cpuMs: (user + system) / 1000, fixture }
}

/** Ids of parts of a kind that the proxy of `aaa` has. */
function parts({ fixture }: Outcome, kind: string): readonly string[] {
  return Object.values(fixture.document('aaa/web-0').parts).flatMap((part) => (part.kind === kind ? [part.id] : []))
}

const refused = (kind: string, name: string): unknown =>
  expect.objectContaining({
    code: 'OSM_SPEC_OBJECT_BOUND',
    severity: 'error',
    object: { kind, namespace: 'aaa', name },
  })

describe('objects of some kilobytes that stand for millions of pairs', () => {
  beforeAll(() => {
    // Warms up the compiler.
    computed([egress('e', { hosts: ['a.example'], ports: [{ number: 443, protocol: 'https' }] })])
  })

  it('an Egress of too many hosts on too many ports opens nothing and is reported', () => {
    const outcome = computed([
      egress('e', { hosts: hosts(1000, 'h'), ports: times(1000, (n) => ({ number: n + 1, protocol: 'https' })) }),
    ])
    expect(outcome.problems).toContainEqual(refused('Egress', 'e'))
    expect(parts(outcome, 'egress')).toEqual([])
    expect(outcome.cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('an Egress of too many requests to too many hosts opens nothing and is reported', () => {
    const outcome = computed([
      routes(900),
      egress('e', {
        hosts: hosts(1000, 'h'),
        ports: [{ number: 80, protocol: 'http' }],
        matches: times(900, () => ({ apiGroup: SPECS, kind: 'HTTPRouteGroup', name: 'g' })),
      }),
    ])
    expect(outcome.problems).toContainEqual(refused('Egress', 'e'))
    expect(parts(outcome, 'egress')).toEqual([])
    expect(outcome.cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('Egress objects that open too much to one account together: the first ones by name hold, the others are reported', () => {
    const outcome = computed(
      times(30, (n) =>
        egress(`e${String(n).padStart(2, '0')}`, {
          hosts: hosts(100, `h${n}-`),
          ports: [{ number: 443, protocol: 'https' }],
        }),
      ),
    )
    expect(parts(outcome, 'egress')).toHaveLength(1_000)
    expect(outcome.problems).not.toContainEqual(refused('Egress', 'e09'))
    expect(outcome.problems).toContainEqual(refused('Egress', 'e10'))
    expect(outcome.cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('an Egress whose sources name one account again and again opens its destinations once', () => {
    const { cpuMs, problems, ...outcome } = computed([
      egress('e', {
        sources: times(2000, () => account),
        hosts: hosts(1000, 'h'),
        ports: [{ number: 443, protocol: 'https' }],
      }),
    ])
    expect(parts({ cpuMs, problems, ...outcome }, 'egress')).toHaveLength(1000)
    expect(problems).toEqual([])
    expect(cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('a TrafficTarget that names one HTTPRouteGroup again and again allows its requests once', () => {
    const outcome = computed([
      routes(900),
      target('t', { rules: times(2000, () => ({ kind: 'HTTPRouteGroup', name: 'g' })) }),
    ])
    expect(parts(outcome, 'inbound')).toHaveLength(1)
    expect(outcome.cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('a TrafficTarget of too many sources and routes allows nothing and is reported', () => {
    const outcome = computed([
      routes(900),
      target('t', {
        sources: times(2000, (n) => ({ ...account, name: `a${n}` })),
        rules: [{ kind: 'HTTPRouteGroup', name: 'g' }],
      }),
    ])
    expect(outcome.problems).toContainEqual(refused('TrafficTarget', 't'))
    expect(parts(outcome, 'inbound')).toEqual([])
    expect(outcome.cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('TrafficTargets that open one account in too many ways together: the first ones by name hold, the others are reported', () => {
    const outcome = computed([
      routes(900),
      ...times(6, (n) =>
        target(`t${n}`, {
          sources: times(10, (s) => ({ ...account, name: `a${s}` })),
          rules: [{ kind: 'HTTPRouteGroup', name: 'g' }],
        }),
      ),
    ])
    expect(parts(outcome, 'inbound')).toHaveLength(1)
    expect(outcome.problems).not.toContainEqual(refused('TrafficTarget', 't1'))
    expect(outcome.problems).toContainEqual(refused('TrafficTarget', 't2'))
    expect(outcome.cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('an IngressBackend and an AccessControl of thousands of names and ranges are joined in time that grows with their length', () => {
    const access = (kind: string, net: number): Manifest =>
      object(POLICY, kind, 'i', {
        backends: [
          {
            name: 'web',
            port: { number: 8080, protocol: 'https' },
            tls: { skipClientCertValidation: true, sniHosts: hosts(4000, `h${net}-`) },
          },
        ],
        sources: ranges(4000, net),
      })
    const outcome = computed([access('IngressBackend', 1), access('AccessControl', 2)])
    expect(outcome.problems).toEqual([])
    expect(parts(outcome, 'ingress')).toHaveLength(2)
    expect(outcome.cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('two services on one port of a workload that let in thousands of ranges are compared in such time, too', () => {
    const access = (name: string, backend: string, net: number): Manifest =>
      object(POLICY, 'IngressBackend', name, {
        backends: [{ name: backend, port: { number: 8080, protocol: 'http' } }],
        sources: ranges(5000, net),
      })
    const outcome = computed([access('i', 'web', 1), access('j', 'web2', 2), service('web2', [webPort])])
    expect(parts(outcome, 'ingress')).toHaveLength(2)
    expect(outcome.cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it.each([
    ['sources', times(60, (n) => ({ name: 'web', port: { number: 8080 + n, protocol: 'http' } })), ranges(1000, 1)],
    ['backends', times(1001, (n) => ({ name: 'web', port: { number: 8080 + n, protocol: 'http' } })), ranges(1, 1)],
  ])('an IngressBackend of too many %s lets no one in and is reported', (_what, backends, sources) => {
    const outcome = computed([object(POLICY, 'IngressBackend', 'i', { backends, sources })])
    expect(outcome.problems).toContainEqual(refused('IngressBackend', 'i'))
    expect(parts(outcome, 'ingress')).toEqual([])
  })

  it('a TrafficSplit of too many backends and matches is ignored and is reported', () => {
    const outcome = computed([
      routes(900),
      service('b', [webPort]),
      split('s', {
        backends: times(12, () => ({ service: 'b', weight: 1 })),
        matches: [{ kind: 'HTTPRouteGroup', name: 'g' }],
      }),
    ])
    expect(outcome.problems).toContainEqual(refused('TrafficSplit', 's'))
  })

  it('TrafficSplits of one service that have too many together: the first ones by name hold, the others are reported', () => {
    const outcome = computed([
      routes(900),
      service('b', [webPort]),
      ...times(3, (n) =>
        split(`s${n}`, {
          backends: times(10, () => ({ service: 'b', weight: 1 })),
          matches: [{ kind: 'HTTPRouteGroup', name: 'g' }],
        }),
      ),
    ])
    expect(outcome.problems).not.toContainEqual(refused('TrafficSplit', 's1'))
    expect(outcome.problems).toContainEqual(refused('TrafficSplit', 's2'))
  })

  it('a Retry of thousands of destinations that all name every service costs no more than one', () => {
    const outcome = computed([
      ...times(300, (n) => service(`s${n}`, [webPort])),
      object(SPECS, 'TCPRoute', 't', {}),
      target('t', { rules: [{ kind: 'TCPRoute', name: 't' }] }),
      object(POLICY, 'Retry', 'r', {
        source: account,
        destinations: times(5000, (n) => ({
          kind: 'Service',
          name: n % 2 === 0 ? '*' : `s${n % 300}`,
          namespace: '*',
        })),
        retryPolicy: {
          retryOn: '5xx',
          numRetries: 1,
          perTryTimeout: '1s',
          retryBackoffBaseInterval: '1s',
        },
      }),
    ])
    const [rules] = Object.values(outcome.fixture.document('aaa/web-0').parts).filter(
      (part) => part.kind === 'clientRules',
    )
    expect(rules?.retries).toHaveLength(301)
    expect(outcome.cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('a Service of too many ports is served at the lowest of them and is reported', () => {
    const ports = times(4_000, (n) => ({ name: `p${n}`, port: 40_000 - n, targetPort: 8080 }))
    const outcome = computed([
      service('wide', ports),
      object(SPECS, 'TCPRoute', 't', {}),
      target('t', { rules: [{ kind: 'TCPRoute', name: 't' }] }),
    ])
    expect(outcome.problems).toContainEqual(refused('Service', 'wide'))
    const wide = parts(outcome, 'outbound').filter((id) => id.startsWith('aaa/wide|'))
    expect(wide).toHaveLength(1_000)
    expect(wide).toContain('aaa/wide|36001')
    expect(wide).toContain('aaa/wide|37000')
    expect(outcome.cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('an UpstreamTrafficSetting whose host repeats the name of its namespace costs nothing', () => {
    const host = times(40_000, () => 'aaa').join('.')
    expect(computed([object(POLICY, 'UpstreamTrafficSetting', 'u', { host })]).cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('an object with thousands of wrong entries has the first ones listed, and the number of the others', () => {
    const { problems } = computed([
      target('t', { rules: times(2000, (n) => ({ kind: 'HTTPRouteGroup', name: `missing-${n}` })) }),
    ])
    const own = problems.filter((problem) => problem.object.kind === 'TrafficTarget')
    expect(own).toHaveLength(51)
    const more = own.filter(({ code }) => code === 'OSM_SPEC_MORE')
    expect(more).toMatchObject([{ severity: 'error', field: 'spec' }])
    expect(more[0]?.message).toContain('1950 more')
  })
})
