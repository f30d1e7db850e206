import { describe, expect, it } from '@jest/globals'
import { type Capabilities, optionalFeatures } from '@osm-ts/driver-api'

import { ObjectDecoder, readObjects } from '../spec/index.js'
import { UnsupportedFields, unsupportedFields } from './unsupported-fields.js'

const all: Capabilities = {
  protocols: ['http', 'grpc', 'tcp'],
  pathMatches: ['exact', 'prefix', 'regex', 'segments'],
  headerMatches: ['exact', 'regex'],
  upstreamIdentity: 'principal',
  modes: ['transparent'],
  standalone: false,
  ipFamilies: ['IPv4'],
  operatingSystems: ['linux'],
  drain: false,
  features: optionalFeatures,
}
const none: Capabilities = { ...all, protocols: ['http'], pathMatches: ['prefix'], headerMatches: [], features: [] }

const decoder = new ObjectDecoder()

function gaps(yaml: string, capabilities: Capabilities): readonly string[] {
  const { objects, problems } = readObjects(yaml, { decoder })
  expect(problems).toEqual([])
  return objects.flatMap((object) =>
    unsupportedFields(object, capabilities).map(({ field, feature }) => `${field} ${feature}`),
  )
}

const policy = (kind: string, spec: string): string =>
  `apiVersion: policy.openservicemesh.io/v1alpha1\nkind: ${kind}\nmetadata: { name: a }\nspec: ${spec}\n`

const cases: readonly (readonly [string, readonly string[]])[] = [
  [
    `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: a }
spec:
  parentRefs: [{ group: '', kind: Service, name: a }]
  rules:
    - matches: [{ path: { value: /a }, headers: [{ name: x, value: y }], queryParams: [{ name: q, value: z }] }]
      filters: [{ type: URLRewrite, urlRewrite: { hostname: b } }]
      backendRefs: [{ name: a, port: 80, filters: [{ type: RequestHeaderModifier, requestHeaderModifier: { remove: [x] } }] }]
    - filters: [{ type: RequestRedirect, requestRedirect: { scheme: https } }]
    - filters: [{ type: ExtensionRef }]
      backendRefs: [{ name: a, port: 80 }]
    - matches: [{ path: { type: Exact, value: /none } }]
      retry: { codes: [503] }
`,
    [
      'spec.rules[0].matches[0].path path-match:segments',
      'spec.rules[0].matches[0].headers[0] header-match:exact',
      'spec.rules[0].matches[0].queryParams query-matches',
      'spec.rules[0].filters[0] route-rewrites',
      'spec.rules[0].backendRefs[0].filters route-target-headers',
      'spec.rules[1].filters[0] route-redirects',
      'spec.rules[2].filters[0] route-errors',
      'spec.rules[3].matches[0].path path-match:exact',
      'spec.rules[3].backendRefs route-errors',
      'spec.rules[3].retry route-retries',
    ],
  ],
  [
    `apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: { name: a }
spec:
  parentRefs: [{ group: '', kind: Service, name: a }]
  rules:
    - matches:
        - { method: { service: a.B, method: C }, headers: [{ name: x, value: y, type: RegularExpression }] }
        - { method: { service: a.B } }
        - { method: { method: C } }
        - { method: { type: RegularExpression, service: a.+, method: C } }
      filters: [{ type: RequestMirror, requestMirror: { backendRef: { name: b, port: 80 } } }]
      backendRefs: [{ name: a, port: 80, filters: [{ type: RequestHeaderModifier, requestHeaderModifier: { remove: [x] } }] }]
    - {}
`,
    [
      'spec.rules[0].matches[0].method path-match:exact',
      'spec.rules[0].matches[0].headers[0] header-match:regex',
      'spec.rules[0].matches[1].method path-match:segments',
      'spec.rules[0].matches[2].method path-match:regex',
      'spec.rules[0].matches[3].method path-match:regex',
      'spec.rules[0].filters[0] route-mirrors',
      'spec.rules[0].backendRefs[0].filters route-target-headers',
      'spec.rules[1].backendRefs route-errors',
    ],
  ],
  [
    `apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: { name: a }
spec:
  parentRefs: [{ group: '', kind: Service, name: a }]
  rules: [{ backendRefs: [{ name: a, port: 80 }, { group: example.com, kind: Bucket, name: b }] }]
`,
    ['spec.rules[0].backendRefs[1] tcp-route-errors'],
  ],
  [
    `apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: { name: a }
spec:
  parentRefs: [{ group: '', kind: Service, name: a }]
  hostnames: [a.example]
  rules: [{ backendRefs: [{ name: a, port: 443 }] }]
`,
    ['spec.hostnames tls-routes'],
  ],
  [
    'apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: a }\nspec: { traffic: { enableEgress: true }, observability: { tracing: { enable: true }, remoteLogging: { enable: false } }, sidecar: { cipherSuites: [x], ecdhCurves: [] } }\n',
    [
      'spec.traffic.enableEgress egress-global',
      'spec.observability.tracing.enable tracing-zipkin',
      'spec.sidecar.cipherSuites tls-parameters',
    ],
  ],
  [
    policy(
      'UpstreamTrafficSetting',
      '{ host: a.b, connectionSettings: { http: { circuitBreaking: { minRequestAmount: 1 } } }, rateLimit: { local: { tcp: { connections: 1, unit: second } } } }',
    ),
    [
      'spec.connectionSettings.http.circuitBreaking statistical-circuit-breaker',
      'spec.rateLimit.local.tcp rate-limit-local-tcp',
    ],
  ],
  [
    policy(
      'Egress',
      '{ sources: [], ports: [{ number: 443, protocol: HTTPS }, { number: 25, protocol: tcp-server-first }] }',
    ),
    ['spec.ports[0].protocol egress-https', 'spec.ports[1].protocol egress-tcp'],
  ],
  [
    policy('IngressBackend', '{ backends: [{ name: a, port: { number: 80, protocol: grpc } }], sources: [] }'),
    ['spec.backends[0].port.protocol ingress-http'],
  ],
  [
    'apiVersion: v1\nkind: Service\nmetadata: { name: a }\nspec: { trafficDistribution: PreferClose }\n',
    ['spec.trafficDistribution load-balancing-locality'],
  ],
  [policy('EgressGateway', '{ global: [] }'), ['spec egress-gateway-http2tunnel']],
  [
    'apiVersion: v1\nkind: Service\nmetadata: { name: gw, annotations: { openservicemesh.io/egress-gateway-mode: sock5 } }\nspec: { ports: [] }\n',
    ['metadata.annotations["openservicemesh.io/egress-gateway-mode"] egress-gateway-socks5'],
  ],
  [
    'apiVersion: specs.smi-spec.io/v1alpha4\nkind: HTTPRouteGroup\nmetadata: { name: a }\nspec: { matches: [{ name: a, pathRegex: /x, headers: [{ host: y }] }, { name: b, pathRegex: ".*" }, { name: c, pathRegex: /x/.*, headers: [{ host: y.* }] }] }\n',
    [
      'spec.matches[0].pathRegex path-match:exact',
      'spec.matches[0].headers[0] header-match:exact',
      'spec.matches[2].pathRegex path-match:regex',
      'spec.matches[2].headers[0] header-match:regex',
    ],
  ],
  [
    'apiVersion: v1\nkind: Service\nmetadata: { name: a }\nspec: { ports: [{ port: 80 }, { port: 81, name: grpc-a }, { port: 82, appProtocol: tcp }] }\n',
    ['spec.ports[1] protocol:grpc', 'spec.ports[2] protocol:tcp'],
  ],
]

describe('unsupportedFields', () => {
  it.each(cases)('names what a class cannot do of %#', (yaml, expected) => {
    expect(gaps(yaml, none)).toEqual(expected)
  })

  it.each(cases)('finds nothing where the class can do all of %#', (yaml) => {
    expect(gaps(yaml, all)).toEqual([])
  })

  it('is remembered for each object and class', () => {
    const { objects } = readObjects(cases.map(([yaml]) => yaml).join('---\n'), { decoder })
    const memory = new UnsupportedFields()
    for (const capabilities of [none, all, none])
      for (const object of objects)
        expect(memory.of(object, capabilities)).toEqual(unsupportedFields(object, capabilities))
    const [object] = objects
    if (object === undefined) throw new Error('the cases hold no object')
    expect(memory.of(object, none)).toBe(memory.of(object, none))
  })
})
