/** An object that is as hard to review as its kind allows, within what a webhook reads. */
export interface WorstObject {
  readonly what: string
  readonly object: { readonly kind: string; readonly [member: string]: unknown }
}

const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i))

/** Five letters for each number. */
const word = (index: number): string => index.toString(36).padStart(5, 'q')

function policy(apiVersion: string, kind: string, spec: unknown): WorstObject['object'] {
  return { apiVersion, kind, metadata: { name: 'worst', namespace: 'zoo' }, spec }
}

const routes = (matches: readonly unknown[]): WorstObject['object'] =>
  policy('specs.smi-spec.io/v1alpha4', 'HTTPRouteGroup', { matches })

const expressions = (count: number, pattern: (index: number) => string): WorstObject['object'] =>
  routes(many(count, (index) => ({ name: `m${index}`, pathRegex: pattern(index), methods: ['GET'] })))

/** Worst cases of everything that takes expressions or lists. */
export function worstObjects(): readonly WorstObject[] {
  return [
    { what: 'few expressions of huge programs', object: expressions(10, (i) => `/${i}${'a{0,1000}'.repeat(112)}`) },
    { what: 'many expressions of huge programs', object: expressions(2_000, (i) => `/a${i}\\pL{1000}`) },
    { what: 'nested counts', object: expressions(900, (i) => `/${i}${'(?:(?:a?){30}){30}'.repeat(2)}`) },
    { what: 'long classes', object: expressions(200, (i) => `/a${i}[${'\\pL\\PN'.repeat(160)}]`) },
    { what: 'folded classes', object: expressions(900, (i) => `(?i)/a${i}[${'\\pL'.repeat(40)}]`) },
    { what: 'expressions as long as they may be', object: expressions(1_200, (i) => `/${i}${'[a-z]+x'.repeat(140)}`) },
    {
      what: 'expressions as long as they may be together',
      object: expressions(128, (i) => `/${i}${'(a|b)*c'.repeat(144)}`),
    },
    { what: 'invalid expressions', object: expressions(9_000, (i) => `/${i}(`) },
    { what: 'brackets that are not closed', object: expressions(120, (i) => `/${i}${'[[:'.repeat(330)}`) },
    {
      what: 'headers with expressions',
      object: routes([{ name: 'm', headers: many(9_000, (i) => ({ [`x-${i}`]: 'a{0,1000}' })) }]),
    },
    {
      what: 'a header map of many names',
      object: routes([{ name: 'm', headers: [Object.fromEntries(many(9_000, (i) => [`x-${i}`, 'a']))] }]),
    },
    { what: 'matches of equal names', object: routes(many(6_000, () => ({ name: 'same', methods: ['GET'] }))) },
    {
      what: 'fields that are not known',
      object: routes([Object.fromEntries(many(24_000, (i) => [`methodz${i}`, i]))]),
    },
    { what: 'many small values', object: routes([{ name: 'm', methods: many(95_000, () => 'G') }]) },
    {
      what: 'routes with limits',
      object: policy('policy.openservicemesh.io/v1alpha1', 'UpstreamTrafficSetting', {
        host: 'web.zoo.svc.cluster.local',
        httpRoutes: many(4_000, (i) => ({
          path: `/${i}a{0,1000}`,
          rateLimit: { local: { requests: 1, unit: 'second' } },
        })),
      }),
    },
    {
      what: 'backends that nearly exist',
      object: policy('split.smi-spec.io/v1alpha4', 'TrafficSplit', {
        service: 'web',
        backends: many(8_000, (i) => ({ service: `service-with-a-name-as-long-as-possible-${word(i)}`, weight: 1 })),
      }),
    },
    {
      what: 'rules with matches that nearly exist',
      object: policy('access.smi-spec.io/v1alpha3', 'TrafficTarget', {
        destination: { kind: 'ServiceAccount', name: 'web', namespace: 'zoo' },
        sources: many(2_500, (i) => ({
          kind: 'ServiceAccount',
          name: `service-with-a-name-as-long-as-possible-${word(i)}`,
          namespace: 'zoo',
        })),
        rules: many(1_500, () => ({ kind: 'HTTPRouteGroup', name: 'full-0', matches: ['n1', 'n2', 'n3'] })),
      }),
    },
    {
      what: 'hosts and ranges',
      object: policy('policy.openservicemesh.io/v1alpha1', 'Egress', {
        sources: many(3_000, (i) => ({ kind: 'ServiceAccount', name: word(i), namespace: 'zoo' })),
        hosts: many(5_000, (i) => `*.${word(i)}..${'a'.repeat(40)}`),
        ipAddresses: many(5_000, (i) => `2001:db8::${i}/1${i}`),
        ports: many(2_000, (i) => ({ number: (i % 65_535) + 1, protocol: 'httpx' })),
      }),
    },
    {
      what: 'backends of access',
      object: policy('policy.openservicemesh.io/v1alpha1', 'IngressBackend', {
        backends: many(3_500, (i) => ({ name: 'web', port: { number: (i % 60_000) + 1, protocol: 'http' } })),
        sources: many(3_000, (i) => ({ kind: 'IPRange', name: `10.0.${i}/33` })),
      }),
    },
    {
      what: 'a format of an access log without an end',
      object: policy('policy.openservicemesh.io/v1alpha1', 'Telemetry', { accessLog: { format: '%'.repeat(500_000) } }),
    },
    {
      what: 'a script without an end',
      object: policy('plugin.flomesh.io/v1alpha1', 'Plugin', { pipyscript: '('.repeat(1_000_000) }),
    },
  ]
}

/** As many expressions and names as one namespace may have, and some beyond. */
export function fullNamespace(): string {
  const routes = Array.from({ length: 30 }, (_, group) => ({
    apiVersion: 'specs.smi-spec.io/v1alpha4',
    kind: 'HTTPRouteGroup',
    metadata: { name: `full-${group}`, namespace: 'zoo' },
    spec: {
      matches: Array.from({ length: 120 }, (_, index) => ({
        name: `n${index}`,
        pathRegex: `/${group}/${index}${'[a-z]+x'.repeat(125)}`,
      })),
    },
  }))
  const services = Array.from({ length: 1_000 }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: `service-with-a-name-as-long-as-possible-${index.toString(36).padStart(5, 'z')}`,
      namespace: 'zoo',
    },
    spec: { selector: { app: 'x' }, ports: [{ port: 80 }] },
  }))
  return [...routes, ...services].map((object) => JSON.stringify(object)).join('\n---\n')
}
