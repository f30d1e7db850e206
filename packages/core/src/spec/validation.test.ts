import { describe, expect, it } from '@jest/globals'

import { formatProblem } from '../problem.js'
import { SnapshotBuilder, type Snapshot } from '../snapshot/index.js'
import { splitDocuments } from './folder/split-documents.js'
import { ObjectDecoder } from './object-decoder.js'
import { objectKey, type MeshObject } from './objects.js'
import { readObjects } from './read-objects.js'
import { consentNeeded } from './reference-grant.js'
import { allKinds } from './schema/kinds.js'
import { checkedKinds, SpecRules } from './validation.js'

/** A small mesh without fault. Cases below replace objects of it, or add some. */
const world = `
{ apiVersion: v1, kind: ServiceAccount, metadata: { name: web } }
---
{ apiVersion: v1, kind: ServiceAccount, metadata: { name: client } }
---
{ apiVersion: v1, kind: Service, metadata: { name: web }, spec: { selector: { app: web }, ports: [{ port: 80, targetPort: http }] } }
---
{ apiVersion: v1, kind: Service, metadata: { name: web-v2 }, spec: { ports: [{ port: 80 }] } }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: web, labels: { app: web } }
spec: { serviceAccountName: web, command: [x], ports: [{ name: http, port: 8080 }] }
---
{ apiVersion: specs.smi-spec.io/v1alpha4, kind: HTTPRouteGroup, metadata: { name: routes }, spec: { matches: [{ name: buy, pathRegex: /buy }] } }
---
{ apiVersion: specs.smi-spec.io/v1alpha4, kind: TCPRoute, metadata: { name: ports }, spec: { matches: { ports: [1] } } }
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: target }
spec:
  destination: { kind: ServiceAccount, name: web }
  rules: [{ kind: HTTPRouteGroup, name: routes, matches: [buy] }, { kind: TCPRoute, name: ports }]
  sources: [{ kind: ServiceAccount, name: client }]
---
apiVersion: split.smi-spec.io/v1alpha4
kind: TrafficSplit
metadata: { name: split }
spec: { service: web, backends: [{ service: web, weight: 1 }, { service: web-v2, weight: 0 }] }
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: Egress
metadata: { name: egress }
spec: { sources: [{ kind: ServiceAccount, name: client, namespace: default }], hosts: [example.com, "*.example.org"], ports: [{ number: 443, protocol: https }] }
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: IngressBackend
metadata: { name: ingress }
spec: { backends: [{ name: web, port: { number: 8080, protocol: http } }], sources: [{ kind: Service, name: web, namespace: default }] }
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: UpstreamTrafficSetting
metadata: { name: setting }
spec: { host: web.default.svc.cluster.local, connectionSettings: { tcp: { connectTimeout: 5s } } }
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: Retry
metadata: { name: retry }
spec:
  source: { kind: ServiceAccount, name: client, namespace: default }
  destinations: [{ kind: Service, name: web, namespace: default }]
  retryPolicy: { retryOn: "5xx, 503", perTryTimeout: 1s, numRetries: 1, retryBackoffBaseInterval: 1s }
---
{ apiVersion: plugin.flomesh.io/v1alpha1, kind: Plugin, metadata: { name: plugin }, spec: { pipyscript: 'export function request() {}' } }
`

const decoder = new ObjectDecoder()
const rules = new SpecRules({
  clusterDomain: 'cluster.local',
  trustDomain: 'trust.example',
  // Cases are about one namespace, which must not be told of its borders.
  osmNamespace: 'default',
  crossNamespace: () => consentNeeded,
  gatewayNames: () => ['gateway.example.com'],
})

/** Rules that have checked nothing yet. */
function apart(): SpecRules {
  return new SpecRules({
    clusterDomain: 'cluster.local',
    trustDomain: 'trust.example',
    osmNamespace: 'default',
    crossNamespace: () => consentNeeded,
    gatewayNames: () => ['gateway.example.com'],
  })
}

function load(text: string): readonly MeshObject[] {
  const { objects, problems } = readObjects(text, { file: 'f.yaml', decoder })
  expect(problems.map(formatProblem)).toEqual([])
  return objects
}

function snapshotOf(...texts: readonly string[]): Snapshot {
  const builder = new SnapshotBuilder(['x'])
  // Later versions of an object replace earlier ones.
  for (const text of texts) builder.apply([{ source: 'x', upserts: load(text), deletes: [] }])
  return builder.snapshot
}

const smi = 'split.smi-spec.io/v1alpha4'
const policy = 'policy.openservicemesh.io/v1alpha1'
const object = (apiVersion: string, kind: string, name: string, spec: string): string =>
  `{ apiVersion: ${apiVersion}, kind: ${kind}, metadata: { name: ${name} }, spec: ${spec} }`
const target = (spec: string): string => object('access.smi-spec.io/v1alpha3', 'TrafficTarget', 'target', spec)
const split = (spec: string, name = 'split'): string => object(smi, 'TrafficSplit', name, spec)
const routes = (matches: string): string =>
  object('specs.smi-spec.io/v1alpha4', 'HTTPRouteGroup', 'routes', `{ matches: [{ name: buy }, ${matches}] }`)
const service = (ports: string): string => object('v1', 'Service', 'web', `{ selector: { app: web }, ports: ${ports} }`)
const balanced = (spec: string): string =>
  object('v1', 'Service', 'web', `{ selector: { app: web }, ports: [{ port: 8080 }], ${spec} }`)
const workload = (spec: string): string =>
  `{ apiVersion: standalone.openservicemesh.io/v1alpha1, kind: Workload, metadata: { name: other }, spec: { serviceAccountName: web, ${spec} } }`
const egress = (spec: string, name = 'egress'): string =>
  object(policy, 'Egress', name, `{ sources: [{ kind: ServiceAccount, name: client, namespace: default }], ${spec} }`)
const ingress = (spec: string, name = 'ingress'): string => object(policy, 'IngressBackend', name, spec)
const setting = (spec: string, name = 'setting'): string => object(policy, 'UpstreamTrafficSetting', name, spec)
const webOfShop =
  '{ apiVersion: v1, kind: Service, metadata: { name: web, namespace: shop }, spec: { ports: [{ port: 80 }] } }'
const retry = (spec: string): string => object(policy, 'Retry', 'retry', spec)
const ranges = 'sources: [{ kind: IPRange, name: 10.0.0.0/8 }]'
const rule = 'rules: [{ kind: TCPRoute, name: ports }]'
const source = 'sources: [{ kind: ServiceAccount, name: client }]'
const retryPolicy = 'retryPolicy: { retryOn: 5xx, perTryTimeout: 1s, numRetries: 1, retryBackoffBaseInterval: 1s }'

/** What is changed, and the one problem that must come of it: severity, code, field, part of the message. */
const cases: readonly (readonly [title: string, text: string, expected: string, message: string])[] = [
  [
    'a target in another namespace',
    target(`{ destination: { kind: ServiceAccount, name: default, namespace: shop }, ${rule}, ${source} }`),
    'error OSM_SPEC_TARGET_NAMESPACE spec.destination.namespace',
    'is "shop", but the TrafficTarget is in "default" and is ignored: set metadata.namespace to "shop"',
  ],
  [
    'a target without rules',
    target(`{ destination: { kind: ServiceAccount, name: web }, ${source} }`),
    'error OSM_SPEC_TARGET_RULES spec.rules',
    'nothing is allowed',
  ],
  [
    'a target without sources',
    target(`{ destination: { kind: ServiceAccount, name: web }, ${rule} }`),
    'warning OSM_SPEC_TARGET_RULES spec.sources',
    'is empty: no caller is allowed',
  ],
  [
    'a destination that is no account',
    target(`{ destination: { kind: Service, name: web }, ${rule}, ${source} }`),
    'error OSM_SPEC_ACCOUNT spec.destination.kind',
    'must be ServiceAccount, not "Service"',
  ],
  [
    'an unknown destination',
    target(`{ destination: { kind: ServiceAccount, name: wbe }, ${rule}, ${source} }`),
    'warning OSM_SPEC_ACCOUNT spec.destination.name',
    'ServiceAccount default/wbe does not exist; did you mean "web"?',
  ],
  [
    'an unknown source',
    target(
      `{ destination: { kind: ServiceAccount, name: web }, ${rule}, sources: [{ kind: ServiceAccount, name: client, namespace: shop }] }`,
    ),
    'warning OSM_SPEC_ACCOUNT spec.sources[0].name',
    'ServiceAccount shop/client does not exist',
  ],
  [
    'a source that is no account',
    target(`{ destination: { kind: ServiceAccount, name: web }, ${rule}, sources: [{ kind: Group, name: all }] }`),
    'warning OSM_SPEC_ACCOUNT spec.sources[0].kind',
    'it is not let in',
  ],
  [
    'a port of old versions',
    target(`{ destination: { kind: ServiceAccount, name: web, port: 80 }, ${rule}, ${source} }`),
    'warning OSM_SPEC_DEPRECATED spec.destination.port',
    'TCPRoute',
  ],
  [
    'an unknown kind of rule',
    target(`{ destination: { kind: ServiceAccount, name: web }, rules: [{ kind: UDPRoute, name: x }], ${source} }`),
    'error OSM_SPEC_ROUTE spec.rules[0].kind',
    'must be HTTPRouteGroup or TCPRoute, not "UDPRoute"; the whole TrafficTarget is ignored',
  ],
  [
    'a missing route group',
    target(
      `{ destination: { kind: ServiceAccount, name: web }, rules: [{ kind: HTTPRouteGroup, name: route }], ${source} }`,
    ),
    'error OSM_SPEC_ROUTE spec.rules[0].name',
    'HTTPRouteGroup default/route does not exist; did you mean "routes"?',
  ],
  [
    'a missing TCP route',
    target(
      `{ destination: { kind: ServiceAccount, name: web }, rules: [{ kind: TCPRoute, name: routes }], ${source} }`,
    ),
    'error OSM_SPEC_ROUTE spec.rules[0].name',
    'TCPRoute default/routes does not exist',
  ],
  [
    'a missing match',
    target(
      `{ destination: { kind: ServiceAccount, name: web }, rules: [{ kind: HTTPRouteGroup, name: routes, matches: [buy, byu] }], ${source} }`,
    ),
    'error OSM_SPEC_ROUTE spec.rules[0].matches[1]',
    'has no match "byu"; did you mean "buy"?',
  ],
  [
    'matches of a TCP route',
    target(
      `{ destination: { kind: ServiceAccount, name: web }, rules: [{ kind: TCPRoute, name: ports, matches: [x] }], ${source} }`,
    ),
    'warning OSM_SPEC_NO_EFFECT spec.rules[0].matches',
    'is not read',
  ],

  [
    'a bad expression',
    routes('{ name: x, pathRegex: "/(" }'),
    'error OSM_SPEC_REGEX spec.matches[1].pathRegex',
    'is no RE2 expression: missing closing )',
  ],
  [
    'an expression of another engine',
    routes('{ name: x, pathRegex: "/(?!x)" }'),
    'error OSM_SPEC_REGEX spec.matches[1].pathRegex',
    'is no RE2 expression',
  ],
  [
    'an expression without end',
    routes(`{ name: x, pathRegex: ${'a'.repeat(1025)} }`),
    'error OSM_SPEC_REGEX spec.matches[1].pathRegex',
    'is 1025 characters long; at most 1024 are taken',
  ],
  [
    'an expression that hurts',
    routes('{ name: x, pathRegex: "/(a+)+$" }'),
    'warning OSM_SPEC_REGEX_COSTLY spec.matches[1].pathRegex',
    'engine backtracks',
  ],
  [
    'a bad header expression',
    routes('{ name: x, headers: [{ a: b }, { user-agent: "[" }] }'),
    'error OSM_SPEC_REGEX spec.matches[1].headers[1].user-agent',
    'missing closing ]',
  ],
  [
    'a bad header name',
    routes('{ name: x, headers: [{ "a b": c }] }'),
    'error OSM_SPEC_HEADER spec.matches[1].headers[0]',
    '"a b" is no header name',
  ],
  [
    'a condition on a header for identities',
    routes('{ name: x, headers: [{ X_Forwarded-Client_Cert: ".*" }] }'),
    'warning OSM_SPEC_NO_EFFECT spec.matches[1].headers[0].X_Forwarded-Client_Cert',
    'no request meets it',
  ],
  [
    'a condition on an order to proxies',
    routes('{ name: x, headers: [{ x-envoy-max-retries: "5" }] }'),
    'warning OSM_SPEC_NO_EFFECT spec.matches[1].headers[0].x-envoy-max-retries',
    'no request meets it',
  ],
  [
    'two matches of one name',
    routes('{ name: buy }'),
    'error OSM_SPEC_CONFLICT spec.matches[1].name',
    '"buy" is the name of a match before',
  ],
  [
    'a route group without matches',
    object('specs.smi-spec.io/v1alpha4', 'HTTPRouteGroup', 'empty', '{ matches: [] }'),
    'warning OSM_SPEC_NO_EFFECT spec.matches',
    'no request matches',
  ],

  [
    'a split without backends',
    split('{ service: web }'),
    'error OSM_SPEC_SPLIT_BACKENDS spec.backends',
    'name at least one service',
  ],
  [
    'weights of 0',
    split('{ service: web, backends: [{ service: web, weight: 0 }] }'),
    'warning OSM_SPEC_SPLIT_BACKENDS spec.backends',
    'no weight above 0',
  ],
  [
    'a missing apex',
    split('{ service: wob, backends: [{ service: web, weight: 1 }] }'),
    'error OSM_SPEC_SPLIT_SERVICE spec.service',
    'Service default/wob does not exist; did you mean "web"?',
  ],
  [
    'an apex elsewhere',
    split('{ service: web.shop.svc.cluster.local, backends: [{ service: web, weight: 1 }] }'),
    'error OSM_SPEC_SPLIT_SERVICE spec.service',
    'names a service of namespace "shop"',
  ],
  [
    'a missing backend',
    split('{ service: web, backends: [{ service: web-v3, weight: 1 }] }'),
    'error OSM_SPEC_SPLIT_SERVICE spec.backends[0].service',
    'Service default/web-v3 does not exist; did you mean "web-v2"?',
  ],
  [
    'a backend twice',
    split('{ service: web, backends: [{ service: web, weight: 1 }, { service: web, weight: 1 }] }'),
    'warning OSM_SPEC_SPLIT_BACKENDS spec.backends[1].service',
    'a backend twice',
  ],
  [
    'a second split',
    split('{ service: web.default, backends: [{ service: web, weight: 1 }] }', 'z'),
    'error OSM_SPEC_CONFLICT spec.service',
    'is split by TrafficSplit default/split already, which holds',
  ],
  [
    'missing matches of a split',
    split('{ service: web, matches: [{ kind: HTTPRouteGroup, name: r }], backends: [{ service: web, weight: 1 }] }'),
    'error OSM_SPEC_ROUTE spec.matches[0].name',
    'HTTPRouteGroup default/r does not exist',
  ],

  [
    'ports of one number',
    service('[{ name: a, targetPort: 8080, port: 80 }, { name: b, targetPort: 8080, port: 80 }]'),
    'error OSM_SPEC_SERVICE_PORT spec.ports[1].port',
    'TCP 80 is a port of this Service already',
  ],
  [
    'ports of one name',
    service('[{ name: a, targetPort: 8080, port: 80 }, { name: a, targetPort: 8080, port: 81 }]'),
    'error OSM_SPEC_SERVICE_PORT spec.ports[1].name',
    '"a" is the name of another port',
  ],
  [
    'ports without names',
    service('[{ name: a, targetPort: 8080, port: 80 }, { targetPort: 8080, port: 81 }]'),
    'warning OSM_SPEC_SERVICE_PORT spec.ports[1].name',
    'is missing',
  ],
  [
    'an unknown protocol',
    service('[{ targetPort: 8080, port: 80, appProtocol: htp }]'),
    'warning OSM_SPEC_PROTOCOL spec.ports[0].appProtocol',
    '"htp" is not known and counts as tcp; did you mean "http"?',
  ],
  [
    'UDP',
    service('[{ targetPort: 8080, port: 80, protocol: UDP }]'),
    'warning OSM_SPEC_PROTOCOL spec.ports[0].protocol',
    'only TCP is',
  ],
  [
    'a port name that no workload has',
    service('[{ port: 80, targetPort: htp }]'),
    'error OSM_SPEC_SERVICE_PORT spec.ports[0].targetPort',
    'no workload of this Service has a port named "htp"; did you mean "http"?',
  ],

  [
    'a workload of nothing',
    workload('ports: []'),
    'error OSM_SPEC_WORKLOAD spec',
    'neither a command to start nor the address',
  ],
  [
    'a workload of both',
    workload('command: [x], address: 192.0.2.1'),
    'error OSM_SPEC_WORKLOAD spec.command',
    'leave one of the two out',
  ],
  [
    'a bad address',
    workload('address: "192.0.2.1:80"'),
    'error OSM_SPEC_ADDRESS spec.address',
    'is neither an IP address nor a host name',
  ],
  [
    'endpoints of the own node only',
    balanced('internalTrafficPolicy: Local'),
    'warning OSM_SPEC_NO_EFFECT spec.internalTrafficPolicy',
    'endpoints of every node get requests',
  ],
  [
    'endpoints of the own node first',
    balanced('trafficDistribution: PreferSameNode'),
    'warning OSM_SPEC_NO_EFFECT spec.trafficDistribution',
    'counts as PreferSameZone',
  ],
  [
    'a distribution that Kubernetes does not have',
    balanced('trafficDistribution: PreferClos'),
    'warning OSM_SPEC_NO_EFFECT spec.trafficDistribution',
    '"PreferClos" is not known and has no effect; did you mean "PreferClose"?',
  ],
  [
    'an affinity that Kubernetes does not have',
    balanced('sessionAffinity: Cookie'),
    'warning OSM_SPEC_NO_EFFECT spec.sessionAffinity',
    'known are ClientIP, None',
  ],
  [
    'an affinity that ends',
    balanced('sessionAffinity: ClientIP, sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } }'),
    'warning OSM_SPEC_NO_EFFECT spec.sessionAffinityConfig.clientIP.timeoutSeconds',
    'as long as the endpoints stay',
  ],
  [
    'a local workload outside the mesh',
    workload('command: [x], sidecar: false'),
    'warning OSM_SPEC_NO_EFFECT spec.sidecar',
    'outside the mesh',
  ],
  [
    'two ports of one number',
    workload('command: [x], ports: [{ port: 1 }, { port: 1 }]'),
    'error OSM_SPEC_WORKLOAD spec.ports[1].port',
    '1 is a port of this Workload already',
  ],
  [
    'two ports of one name',
    workload('command: [x], ports: [{ name: a, port: 1 }, { name: a, port: 2 }]'),
    'error OSM_SPEC_WORKLOAD spec.ports[1].name',
    '"a" is the name of another port',
  ],
  [
    'two ports of one listener',
    workload('command: [x], ports: [{ port: 1 }, { port: 2, localPort: 1 }]'),
    'warning OSM_SPEC_WORKLOAD spec.ports[1].localPort',
    'listens for another port already',
  ],
  [
    'a probe of two kinds',
    workload('command: [x], probes: { liveness: { tcpSocket: { port: 1 }, exec: { command: [x] } } }'),
    'error OSM_SPEC_WORKLOAD spec.probes.liveness',
    'exactly one of httpGet, tcpSocket, grpc and exec, not tcpSocket and exec',
  ],
  [
    'a probe of an unknown port',
    workload('command: [x], ports: [{ name: http, port: 1 }], probes: { startup: { httpGet: { port: htp } } }'),
    'error OSM_SPEC_WORKLOAD spec.probes.startup.httpGet.port',
    'no port named "htp"; did you mean "http"?',
  ],

  [
    'egress of an unknown protocol',
    egress('hosts: [a.b], ports: [{ number: 1, protocol: udp }]'),
    'error OSM_SPEC_PROTOCOL spec.ports[0].protocol',
    'must be one of http, https, tcp, tcp-server-first, not "udp"',
  ],
  [
    'egress without hosts',
    egress('ports: [{ number: 80, protocol: HTTP }]'),
    'error OSM_SPEC_NO_EFFECT spec.hosts',
    'http needs the names of hosts',
  ],
  [
    'egress of http by address',
    egress('ipAddresses: [10.0.0.0/8], ports: [{ number: 443, protocol: https }, { number: 80, protocol: http }]'),
    'error OSM_SPEC_NO_EFFECT spec.hosts',
    'http needs the names of hosts',
  ],
  [
    'egress without ports',
    egress('hosts: [a.b], ports: []'),
    'warning OSM_SPEC_NO_EFFECT spec.ports',
    'nothing is opened',
  ],
  [
    'egress without sources',
    object(policy, 'Egress', 'egress', '{ sources: [], ports: [{ number: 1, protocol: tcp }] }'),
    'warning OSM_SPEC_NO_EFFECT spec.sources',
    'is empty: no egress is allowed',
  ],
  [
    'egress for an unknown account',
    object(
      policy,
      'Egress',
      'egress',
      '{ sources: [{ kind: ServiceAccount, name: klient, namespace: default }], ports: [{ number: 1, protocol: tcp }] }',
    ),
    'warning OSM_SPEC_ACCOUNT spec.sources[0].name',
    'did you mean "client"?',
  ],
  [
    'egress to a URL',
    egress('hosts: ["http://a.b"], ports: [{ number: 80, protocol: http }]'),
    'error OSM_SPEC_HOST spec.hosts[0]',
    'leave out scheme, port and path',
  ],
  [
    'egress to a bad range',
    egress('ipAddresses: [10.0.0.0/8, 10.0.0.1], ports: [{ number: 1, protocol: tcp }]'),
    'error OSM_SPEC_ADDRESS spec.ipAddresses[1]',
    '"10.0.0.1" is no range',
  ],
  [
    'egress with matches of another group',
    egress('ports: [{ number: 1, protocol: tcp }], matches: [{ apiGroup: v1, kind: Service, name: x }]'),
    'error OSM_SPEC_REFERENCE spec.matches[0].apiGroup',
    'must be specs.smi-spec.io/v1alpha4 or policy.openservicemesh.io/v1alpha1',
  ],
  [
    'egress with matches of another kind',
    egress(
      'ports: [{ number: 1, protocol: tcp }], matches: [{ apiGroup: specs.smi-spec.io/v1alpha4, kind: TCPRoute, name: ports }]',
    ),
    'error OSM_SPEC_REFERENCE spec.matches[0].kind',
    'must be HTTPRouteGroup',
  ],
  [
    'egress with missing matches',
    egress(
      'ports: [{ number: 1, protocol: tcp }], matches: [{ apiGroup: specs.smi-spec.io/v1alpha4, kind: HTTPRouteGroup, name: r }]',
    ),
    'error OSM_SPEC_REFERENCE spec.matches[0].name',
    'does not exist',
  ],
  [
    'egress with two settings',
    egress(
      `ports: [{ number: 1, protocol: tcp }], matches: [{ apiGroup: ${policy}, kind: UpstreamTrafficSetting, name: setting }, { apiGroup: ${policy}, kind: UpstreamTrafficSetting, name: setting }]`,
    ),
    'error OSM_SPEC_REFERENCE spec.matches[1]',
    'a second UpstreamTrafficSetting',
  ],
  [
    'https egress where the server speaks first',
    object('v1', 'Service', 'mail', '{ ports: [{ port: 443, appProtocol: tcp-server-first }] }'),
    'error OSM_SPEC_PROTOCOL spec.ports[0].protocol',
    'https on port 443 waits for the client, but Service default/mail lets the server speak first there',
  ],
  [
    'https and server-first egress on one port',
    egress('ports: [{ number: 443, protocol: tcp-server-first }]', 'mail'),
    'error OSM_SPEC_PROTOCOL spec.ports[0].protocol',
    'Egress default/mail lets the server speak first',
  ],

  [
    'ingress of an unknown protocol',
    ingress(`{ backends: [{ name: web, port: { number: 8080, protocol: tcp } }], ${ranges} }`),
    'error OSM_SPEC_PROTOCOL spec.backends[0].port.protocol',
    'must be one of http, https, grpc',
  ],
  [
    'ingress without sources',
    ingress('{ backends: [{ name: web, port: { number: 8080, protocol: http } }], sources: [] }'),
    'error OSM_SPEC_NO_EFFECT spec.sources',
    'is empty: no caller is allowed',
  ],
  [
    'ingress without backends',
    ingress(`{ backends: [], ${ranges} }`),
    'warning OSM_SPEC_NO_EFFECT spec.backends',
    'nothing is opened',
  ],
  [
    'ingress of a backend twice',
    ingress(
      `{ backends: [{ name: web, port: { number: 8080, protocol: http } }, { name: web, port: { number: 8080, protocol: grpc } }], ${ranges} }`,
    ),
    'error OSM_SPEC_CONFLICT spec.backends[1]',
    'web port 8080 is a backend of this object already',
  ],
  [
    'ingress of a backend of another',
    ingress(`{ backends: [{ name: web, port: { number: 8080, protocol: http } }], ${ranges} }`, 'z'),
    'error OSM_SPEC_CONFLICT spec.backends[0]',
    'web port 8080 is a backend of IngressBackend default/ingress already, which holds',
  ],
  [
    'ingress of a missing service',
    ingress(`{ backends: [{ name: wob, port: { number: 8080, protocol: http } }], ${ranges} }`),
    'warning OSM_SPEC_REFERENCE spec.backends[0].name',
    'Service default/wob does not exist; did you mean "web"?',
  ],
  [
    'ingress of the port of the service',
    ingress(`{ backends: [{ name: web, port: { number: 80, protocol: http } }], ${ranges} }`),
    'warning OSM_SPEC_REFERENCE spec.backends[0].port.number',
    'Service default/web leads to 8080',
  ],
  [
    'ingress with certificates of no one',
    ingress(`{ backends: [{ name: web, port: { number: 8080, protocol: https } }], ${ranges} }`),
    'error OSM_SPEC_PRINCIPAL spec.backends[0].tls',
    'name at least one source of kind AuthenticatedPrincipal',
  ],
  [
    'ingress of clients that no certificate can name',
    ingress(
      '{ backends: [{ name: web, port: { number: 8080, protocol: https } }], sources: [{ kind: AuthenticatedPrincipal, name: "*" }] }',
    ),
    'error OSM_SPEC_PRINCIPAL spec.sources[0].name',
    'is not a valid DNS name for a certificate',
  ],
  [
    'ingress under a name that no one can ask for',
    ingress(
      `{ backends: [{ name: web, port: { number: 8080, protocol: https }, tls: { skipClientCertValidation: true, sniHosts: ["*.a.example", "a b"] } }], ${ranges} }`,
    ),
    'error OSM_SPEC_HOST spec.backends[0].tls.sniHosts[1]',
    'is no host name',
  ],
  [
    'ingress with useless TLS',
    ingress(
      `{ backends: [{ name: web, port: { number: 8080, protocol: http }, tls: { skipClientCertValidation: true } }], ${ranges} }`,
    ),
    'warning OSM_SPEC_NO_EFFECT spec.backends[0].tls',
    'for protocol https only',
  ],
  [
    'ingress from nowhere',
    ingress(
      '{ backends: [{ name: web, port: { number: 8080, protocol: http } }], sources: [{ kind: Service, name: x }] }',
    ),
    'error OSM_SPEC_REFERENCE spec.sources[0].namespace',
    'is missing',
  ],
  [
    'ingress from a missing service',
    ingress(
      '{ backends: [{ name: web, port: { number: 8080, protocol: http } }], sources: [{ kind: Service, name: x, namespace: default }] }',
    ),
    'warning OSM_SPEC_REFERENCE spec.sources[0].name',
    'Service default/x does not exist',
  ],
  [
    'ingress from a bad range',
    ingress(
      '{ backends: [{ name: web, port: { number: 8080, protocol: http } }], sources: [{ kind: IPRange, name: 10.0.0.1 }] }',
    ),
    'error OSM_SPEC_ADDRESS spec.sources[0].name',
    'is no range',
  ],
  [
    'access control of a backend twice',
    object(
      policy,
      'AccessControl',
      'a',
      `{ backends: [{ name: web, port: { number: 8080, protocol: http } }, { name: web, port: { number: 8080, protocol: http } }], ${ranges} }`,
    ),
    'error OSM_SPEC_CONFLICT spec.backends[1]',
    'already',
  ],

  [
    'a setting for a short name',
    setting('{ host: web }'),
    'error OSM_SPEC_HOST spec.host',
    'must be a full host name such as web.default.svc.cluster.local, not "web"',
  ],
  [
    'a setting for a service elsewhere',
    `${setting('{ host: web.shop.svc.cluster.local }')}\n---\n${webOfShop}`,
    'error OSM_SPEC_HOST spec.host',
    'is a service of namespace "shop"',
  ],
  [
    'a setting for a service of another namespace, whose name is written in short',
    `${setting('{ host: web.shop }')}\n---\n${webOfShop}`,
    'error OSM_SPEC_HOST spec.host',
    'is a service of namespace "shop"',
  ],
  [
    'a setting for a Service outside the mesh that no Egress names',
    setting('{ host: httpbin.elsewhere.svc.cluster.local }', 'external'),
    'warning OSM_SPEC_NO_EFFECT spec.host',
    'none of namespace "default" names "external"',
  ],
  [
    'a Retry in another namespace than its source',
    retry(
      `{ source: { kind: ServiceAccount, name: default, namespace: shop }, destinations: [{ kind: Service, name: web, namespace: default }], ${retryPolicy} }`,
    ),
    'error OSM_SPEC_RETRY_NAMESPACE spec.source.namespace',
    'is "shop", but the Retry is in "default" and is ignored: set metadata.namespace to "shop"',
  ],
  [
    'a setting for a missing service',
    setting('{ host: wob.default.svc.cluster.local }'),
    'warning OSM_SPEC_REFERENCE spec.host',
    'Service default/wob does not exist',
  ],
  [
    'a second setting',
    setting('{ host: WEB.default.svc.cluster.local }', 'z'),
    'error OSM_SPEC_CONFLICT spec.host',
    'has UpstreamTrafficSetting default/setting already, which holds',
  ],
  [
    'a second setting whose host is written in another way',
    setting('{ host: web.default }', 'z'),
    'error OSM_SPEC_CONFLICT spec.host',
    'has UpstreamTrafficSetting default/setting already, which holds',
  ],
  [
    'limits of one instance',
    setting(
      '{ host: web-0.web.default.svc, httpRoutes: [{ path: /, rateLimit: { local: { requests: 1, unit: hour } } }] }',
    ),
    'warning OSM_SPEC_NO_EFFECT spec.host',
    'write them for web.default.svc.cluster.local',
  ],
  [
    'a breaker that never opens',
    setting('{ host: web.default, connectionSettings: { http: { circuitBreaking: { errorAmountThreshold: 0 } } } }'),
    'warning OSM_SPEC_NO_EFFECT spec.connectionSettings.http.circuitBreaking',
    'never opens',
  ],
  [
    'slow requests without a measure',
    setting('{ host: web.default, connectionSettings: { http: { circuitBreaking: { slowRatioThreshold: 0.5 } } } }'),
    'warning OSM_SPEC_NO_EFFECT spec.connectionSettings.http.circuitBreaking.slowTimeThreshold',
    'is needed to tell',
  ],
  [
    'a share of more than all',
    setting('{ host: web.default, connectionSettings: { http: { circuitBreaking: { errorRatioThreshold: 50 } } } }'),
    'warning OSM_SPEC_NO_EFFECT spec.connectionSettings.http.circuitBreaking.errorRatioThreshold',
    'is a share',
  ],
  [
    'a header that no answer can have',
    setting(
      '{ host: web.default, rateLimit: { local: { http: { requests: 1, unit: hour, responseHeadersToAdd: [{ name: Host, value: x }] } } } }',
    ),
    'error OSM_SPEC_HEADER spec.rateLimit.local.http.responseHeadersToAdd[0].name',
    '"Host" with "x"',
  ],
  [
    'a header that is too long for an answer',
    setting(
      `{ host: web.default, rateLimit: { local: { http: { requests: 1, unit: hour, responseHeadersToAdd: [{ name: x, value: ${'v'.repeat(16_385)} }] } } } }`,
    ),
    'error OSM_SPEC_HEADER spec.rateLimit.local.http.responseHeadersToAdd[0].name',
    'has more than 16384 bytes',
  ],
  [
    'an eleventh header for an answer',
    setting(
      `{ host: web.default, rateLimit: { local: { http: { requests: 1, unit: hour, responseHeadersToAdd: [${Array.from({ length: 11 }, (_, index) => `{ name: x-${index}, value: v }`).join(', ')}] } } } }`,
    ),
    'error OSM_SPEC_HEADER spec.rateLimit.local.http.responseHeadersToAdd[10]',
    'at most 10 headers',
  ],
  [
    'a service without a domain',
    setting(
      '{ host: web.default, rateLimit: { global: { http: { rateLimitService: { host: h, port: 1 }, domain: "" } } } }',
    ),
    'error OSM_SPEC_NO_EFFECT spec.rateLimit.global.http.domain',
    'nothing is limited',
  ],
  [
    'a key that is empty',
    setting(
      '{ host: web.default, rateLimit: { global: { tcp: { rateLimitService: { host: h, port: 1 }, domain: d, descriptors: [{ entries: [{ key: "", value: v }] }] } } } }',
    ),
    'error OSM_SPEC_NO_EFFECT spec.rateLimit.global.tcp.descriptors[0].entries[0].key',
    'is empty',
  ],
  [
    'descriptors of a route for no service',
    setting(
      '{ host: web.default, httpRoutes: [{ path: /, rateLimit: { global: { descriptors: [{ entries: [{ remoteAddress: {} }] }] } } }] }',
    ),
    'error OSM_SPEC_NO_EFFECT spec.httpRoutes[0].rateLimit.global',
    'give spec.rateLimit.global.http',
  ],
  [
    'a repeated route',
    setting(
      '{ host: web.default, httpRoutes: [{ path: /, rateLimit: { local: { requests: 1, unit: hour } } }, { path: /, rateLimit: { local: { requests: 2, unit: hour } } }] }',
    ),
    'error OSM_SPEC_CONFLICT spec.httpRoutes[1].path',
    'an entry before',
  ],
  [
    'a route without a limit',
    setting('{ host: web.default, httpRoutes: [{ path: / }] }'),
    'warning OSM_SPEC_NO_EFFECT spec.httpRoutes[0].rateLimit',
    'says nothing',
  ],
  [
    'a descriptor of no header',
    setting(
      '{ host: web.default, rateLimit: { global: { http: { rateLimitService: { host: h, port: 1 }, domain: d, descriptors: [{ entries: [{ requestHeader: { name: "a b", key: k } }] }] } } } }',
    ),
    'error OSM_SPEC_HEADER spec.rateLimit.global.http.descriptors[0].entries[0].requestHeader.name',
    '"a b" is no header name',
  ],
  [
    'a bad duration',
    setting('{ host: web.default, connectionSettings: { tcp: { connectTimeout: 5 } } }'),
    'error OSM_SPEC_DURATION spec.connectionSettings.tcp.connectTimeout',
    '"5" is no duration such as 5s',
  ],
  [
    'a bad window',
    setting(
      '{ host: web.default, connectionSettings: { http: { circuitBreaking: { statTimeWindow: -1s, errorAmountThreshold: 1 } } } }',
    ),
    'error OSM_SPEC_DURATION spec.connectionSettings.http.circuitBreaking.statTimeWindow',
    '"-1s"',
  ],
  [
    'a bad path',
    setting('{ host: web.default, httpRoutes: [{ path: "/[", rateLimit: { local: { requests: 1, unit: hour } } }] }'),
    'error OSM_SPEC_REGEX spec.httpRoutes[0].path',
    'missing closing ]',
  ],
  [
    'an entry of two kinds',
    setting(
      '{ host: web.default, rateLimit: { global: { http: { rateLimitService: { host: h, port: 1 }, domain: d } } }, httpRoutes: [{ path: /, rateLimit: { global: { descriptors: [{ entries: [{ genericKey: { value: v }, remoteAddress: {} }] }] } } }] }',
    ),
    'error OSM_SPEC_HEADER spec.httpRoutes[0].rateLimit.global.descriptors[0].entries[0]',
    'exactly one of genericKey',
  ],
  [
    'a header match of nothing',
    setting(
      '{ host: web.default, rateLimit: { global: { http: { rateLimitService: { host: h, port: 1 }, domain: d, descriptors: [{ entries: [{ headerValueMatch: { value: v, headers: [{ name: x }] } }] }] } } } }',
    ),
    'error OSM_SPEC_HEADER spec.rateLimit.global.http.descriptors[0].entries[0].headerValueMatch.headers[0]',
    'must say exactly one thing of header x',
  ],

  [
    'a retry to services of a namespace that has none',
    retry(
      `{ source: { kind: ServiceAccount, name: client, namespace: default }, destinations: [{ kind: Service, name: '*', namespace: shop }], ${retryPolicy} }`,
    ),
    'warning OSM_SPEC_REFERENCE spec.destinations[0].name',
    'no Service is meant by shop/*',
  ],
  [
    'a retry to a name that no service has anywhere',
    retry(
      `{ source: { kind: ServiceAccount, name: client, namespace: default }, destinations: [{ kind: Service, name: wob, namespace: '*' }, { kind: Service, name: '*', namespace: '*' }], ${retryPolicy} }`,
    ),
    'warning OSM_SPEC_REFERENCE spec.destinations[0].name',
    'no Service is meant by */wob',
  ],
  [
    'a retry of no account',
    retry(
      `{ source: { kind: Service, name: web, namespace: default }, destinations: [{ kind: Service, name: web, namespace: default }], ${retryPolicy} }`,
    ),
    'error OSM_SPEC_ACCOUNT spec.source.kind',
    'must be ServiceAccount',
  ],
  [
    'a retry to no service',
    retry(
      `{ source: { kind: ServiceAccount, name: client, namespace: default }, destinations: [{ kind: Pod, name: web, namespace: default }], ${retryPolicy} }`,
    ),
    'error OSM_SPEC_REFERENCE spec.destinations[0].kind',
    'must be Service',
  ],
  [
    'a retry to a missing service',
    retry(
      `{ source: { kind: ServiceAccount, name: client, namespace: default }, destinations: [{ kind: Service, name: wbe, namespace: default }], ${retryPolicy} }`,
    ),
    'warning OSM_SPEC_REFERENCE spec.destinations[0].name',
    'did you mean "web"?',
  ],
  [
    'a retry to nowhere',
    retry(`{ source: { kind: ServiceAccount, name: client, namespace: default }, destinations: [], ${retryPolicy} }`),
    'warning OSM_SPEC_NO_EFFECT spec.destinations',
    'nothing is retried',
  ],
  [
    'a retry on nonsense',
    retry(
      `{ source: { kind: ServiceAccount, name: client, namespace: default }, destinations: [{ kind: Service, name: web, namespace: default }], ${retryPolicy.replace('5xx', '"5xx,bad-luck"')} }`,
    ),
    'warning OSM_SPEC_RETRY_ON spec.retryPolicy.retryOn',
    '"bad-luck" is not known',
  ],
  [
    'a retry with a bad timeout',
    retry(
      `{ source: { kind: ServiceAccount, name: client, namespace: default }, destinations: [{ kind: Service, name: web, namespace: default }], ${retryPolicy.replace('perTryTimeout: 1s', 'perTryTimeout: 1')} }`,
    ),
    'error OSM_SPEC_DURATION spec.retryPolicy.perTryTimeout',
    '"1" is no duration',
  ],

  [
    'global gateways',
    object(policy, 'EgressGateway', 'g', '{ global: [{ service: gw, namespace: default }] }'),
    'error OSM_SPEC_REFERENCE spec.global[0].service',
    'Service default/gw does not exist',
  ],
  [
    'gateways for a missing policy',
    object(
      policy,
      'EgressGateway',
      'g',
      '{ rules: [{ egressPolicies: [{ name: e, namespace: default }], egressGateways: [{ service: web, namespace: default }] }] }',
    ),
    'error OSM_SPEC_REFERENCE spec.rules[0].egressPolicies[0].name',
    'Egress default/e does not exist',
  ],
  [
    'a missing gateway',
    object(
      policy,
      'EgressGateway',
      'g',
      '{ rules: [{ egressPolicies: [{ name: egress, namespace: default }], egressGateways: [{ service: gw, namespace: default }] }] }',
    ),
    'error OSM_SPEC_REFERENCE spec.rules[0].egressGateways[0].service',
    'does not exist',
  ],

  [
    'gateways without a share',
    object(
      policy,
      'EgressGateway',
      'g',
      '{ rules: [{ egressPolicies: [{ name: egress, namespace: default }], egressGateways: [{ service: web, namespace: default, weight: 0 }] }] }',
    ),
    'warning OSM_SPEC_NO_EFFECT spec.rules[0].egressGateways',
    'names no gateway with a weight',
  ],
  [
    'a second rule for an Egress',
    ['first', 'g']
      .map((name) =>
        object(
          policy,
          'EgressGateway',
          name,
          '{ rules: [{ egressPolicies: [{ name: egress, namespace: default }], egressGateways: [{ service: web, namespace: default }] }] }',
        ),
      )
      .join('\n---\n'),
    'error OSM_SPEC_CONFLICT spec.rules[0].egressPolicies[0]',
    'has gateways already, by EgressGateway default/first',
  ],

  [
    'a certificate for an identity',
    object(
      policy,
      'AccessCert',
      'a',
      '{ subjectAltNames: [web.default.trust.example], secret: { name: s, namespace: n } }',
    ),
    'error OSM_SPEC_CERT_NAME spec.subjectAltNames[0]',
    'is the identity of service account default/web, which TrafficTarget default/target names',
  ],
  [
    'a certificate for the trust domain',
    object(policy, 'AccessCert', 'a', '{ subjectAltNames: [trust.example], secret: { name: s, namespace: n } }'),
    'error OSM_SPEC_CERT_NAME spec.subjectAltNames[0]',
    'lies under trust.example',
  ],
  [
    'a certificate for a service',
    object(
      policy,
      'AccessCert',
      'a',
      '{ subjectAltNames: [WEB.default.svc.cluster.local.], secret: { name: s, namespace: n } }',
    ),
    'error OSM_SPEC_CERT_NAME spec.subjectAltNames[0]',
    'lies under cluster.local',
  ],
  [
    'a certificate for everything',
    object(policy, 'AccessCert', 'a', '{ subjectAltNames: ["*.example.com"], secret: { name: s, namespace: n } }'),
    'error OSM_SPEC_CERT_NAME spec.subjectAltNames[0]',
    'must not hold a wildcard',
  ],
  [
    'a certificate for no name',
    object(policy, 'AccessCert', 'a', '{ subjectAltNames: ["a b"], secret: { name: s, namespace: n } }'),
    'error OSM_SPEC_HOST spec.subjectAltNames[0]',
    'is no host name',
  ],
  [
    'a gateway certificate for a service',
    object(
      'config.openservicemesh.io/v1alpha2',
      'MeshConfig',
      'c',
      '{ certificate: { ingressGateway: { subjectAltNames: [a.b, web.default.svc.cluster.local], validityDuration: 1h, secret: { name: s, namespace: n } } } }',
    ),
    'error OSM_SPEC_CERT_NAME spec.certificate.ingressGateway.subjectAltNames[1]',
    'lies under cluster.local',
  ],
  ...(
    [
      [
        'a stage of one chain in another',
        'modules/outbound-tcp-default',
        '',
        'plugin',
        'is no built-in stage of inbound-tcp',
      ],
      ['a script among the stages', 'mine', '', 'plugin', 'put scripts into chains by a PluginChain'],
      ['a stage elsewhere', 'modules/inbound-tcp-default', '', 'priority', 'is fixed; plugins come after the rules'],
      ['no stage', 'modules/inbound-tcp-routing', ', disable: true', 'disable', 'cannot be left out'],
    ] as const
  ).map(
    ([what, stage, more, field, message]) =>
      [
        what,
        object(
          'config.openservicemesh.io/v1alpha2',
          'MeshConfig',
          'c',
          `{ pluginChains: { inbound-tcp: [{ plugin: ${stage}, priority: 120${more} }] } }`,
        ),
        `warning OSM_SPEC_NO_EFFECT spec.pluginChains.inbound-tcp[0].${field}`,
        message,
      ] as const,
  ),
  [
    'a root of no provider',
    object('config.openservicemesh.io/v1alpha2', 'MeshRootCertificate', 'm', '{ provider: {} }'),
    'error OSM_SPEC_PROVIDER spec.provider',
    'must have exactly one of tresor, vault and certManager, not none',
  ],

  [
    'a root certificate that issues nothing',
    object(
      'config.openservicemesh.io/v1alpha2',
      'MeshRootCertificate',
      'm',
      '{ provider: { tresor: { ca: { secretRef: { name: s, namespace: n } } } } }',
    ),
    'warning OSM_SPEC_NO_EFFECT spec',
    'the flags of the programs decide who issues',
  ],

  ...(
    [
      ['token', '', 'spec.provider.vault.token', 'is missing, which a login of kind token needs'],
      ['kubernetes', ', mount: k8s', 'spec.provider.vault.auth.role', 'a login of kind kubernetes needs'],
      ['tokenFile', '', 'spec.provider.vault.auth.tokenFile', 'a login of kind tokenFile needs'],
    ] as const
  ).map(
    ([kind, more, field, message]) =>
      [
        `a login to Vault of kind ${kind} without what it needs`,
        object(
          'config.openservicemesh.io/v1alpha2',
          'MeshRootCertificate',
          'm',
          `{ provider: { vault: { host: v, port: 1, role: r, protocol: https, auth: { kind: ${kind}${more} } } } }`,
        ),
        `error OSM_SPEC_PROVIDER ${field}`,
        message,
      ] as const,
  ),

  [
    'an empty plugin',
    object('plugin.flomesh.io/v1alpha1', 'Plugin', 'p', '{ pipyscript: " " }'),
    'error OSM_SPEC_NO_EFFECT spec.pipyscript',
    'is empty',
  ],
  [
    'a plugin that is too long',
    object('plugin.flomesh.io/v1alpha1', 'Plugin', 'p', `{ pipyscript: "${'x'.repeat(1_000_001)}" }`),
    'error OSM_SPEC_SCRIPT spec.pipyscript',
    'has 1000001 bytes; at most 1000000 go to sidecars',
  ],
  [
    'a plugin that is no script',
    object('plugin.flomesh.io/v1alpha1', 'Plugin', 'p', '{ pipyscript: "export function request( {" }'),
    'error OSM_SPEC_SCRIPT spec.pipyscript',
    'is no JavaScript module: Unexpected token (1:26)',
  ],
  [
    'a plugin of osm-edge, which exports nothing',
    object('plugin.flomesh.io/v1alpha1', 'Plugin', 'p', '{ pipyscript: "export var other = pipy()" }'),
    'warning OSM_SPEC_NO_EFFECT spec.pipyscript',
    'exports none of the functions request, response and connection',
  ],
  [
    'a chain of a missing plugin',
    object(
      'plugin.flomesh.io/v1alpha1',
      'PluginChain',
      'c',
      '{ chains: [{ name: inbound-tcp, plugins: [plugin, plugim] }], selectors: {} }',
    ),
    'warning OSM_SPEC_REFERENCE spec.chains[0].plugins[1]',
    'Plugin plugim does not exist; did you mean "plugin"?',
  ],
  [
    'settings of a missing plugin',
    object('plugin.flomesh.io/v1alpha1', 'PluginConfig', 'c', '{ plugin: x, destinationRefs: [], config: {} }'),
    'warning OSM_SPEC_REFERENCE spec.plugin',
    'Plugin x does not exist',
  ],
  [
    'settings for a missing service',
    object(
      'plugin.flomesh.io/v1alpha1',
      'PluginConfig',
      'c',
      '{ plugin: plugin, destinationRefs: [{ kind: Service, name: wbe, namespace: default }], config: {} }',
    ),
    'warning OSM_SPEC_REFERENCE spec.destinationRefs[0].name',
    'did you mean "web"?',
  ],
  [
    'an import without an address',
    object(
      'flomesh.io/v1alpha1',
      'ServiceImport',
      'i',
      '{ ports: [{ port: 1, endpoints: [{ clusterKey: c, target: { host: h, ip: h, port: 1, path: / } }] }] }',
    ),
    'error OSM_SPEC_ADDRESS spec.ports[0].endpoints[0].target.ip',
    '"h" is no IP address',
  ],
  [
    'logs to a missing collector',
    object(
      policy,
      'Telemetry',
      't',
      '{ accessLog: { openTelemetry: { extensionService: { namespace: default, name: c } } } }',
    ),
    'error OSM_SPEC_REFERENCE spec.accessLog.openTelemetry.extensionService.name',
    'ExtensionService default/c does not exist',
  ],
  [
    'a log format with an unknown command',
    object(policy, 'Telemetry', 't', '{ accessLog: { format: "%DURATON%" } }'),
    'error OSM_SPEC_LOG_FORMAT spec.accessLog.format',
    '%DURATON% is no command',
  ],
  [
    'Telemetry for workloads that another one has',
    [
      object(policy, 'Telemetry', 't', '{ selector: { app: web } }'),
      object(policy, 'Telemetry', 's', '{ selector: { app: web }, accessLog: {} }'),
    ].join('\n---\n'),
    'error OSM_SPEC_CONFLICT spec.selector',
    'the same workloads as Telemetry default/s, which holds',
  ],
  [
    'a collector with a bad timeout',
    object('config.openservicemesh.io/v1alpha2', 'ExtensionService', 'c', '{ host: h, port: 1, connectTimeout: x }'),
    'error OSM_SPEC_DURATION spec.connectTimeout',
    'is no duration',
  ],
]

/** Objects of namespace aaa that refer to namespace default, what is found, and the entries of a ReferenceGrant that permits the reference. */
const foreign: readonly (readonly [string, string, string, string, string])[] = [
  [
    'an Egress for accounts',
    object(
      policy,
      'Egress',
      'e',
      '{ sources: [{ kind: ServiceAccount, name: client, namespace: default }], ports: [{ number: 5432, protocol: tcp }] }',
    ),
    'error OSM_SPEC_REF_NOT_PERMITTED spec.sources[0].namespace',
    'Egress',
    '{ group: "", kind: ServiceAccount, name: client }',
  ],
  [
    'an EgressGateway for an Egress',
    object(
      policy,
      'EgressGateway',
      'g',
      '{ rules: [{ egressPolicies: [{ name: out, namespace: default }], egressGateways: [{ service: web, namespace: default }] }] }',
    ),
    'error OSM_SPEC_REF_NOT_PERMITTED spec.rules[0].egressPolicies[0].namespace',
    'EgressGateway',
    `{ group: ${policy.split('/')[0] ?? ''}, kind: Egress }`,
  ],
  [
    'a PluginConfig for a service',
    object(
      'plugin.flomesh.io/v1alpha1',
      'PluginConfig',
      'c',
      '{ plugin: p, destinationRefs: [{ kind: Service, name: web, namespace: default }], config: {} }',
    ),
    'warning OSM_SPEC_REF_NOT_PERMITTED spec.destinationRefs[0].namespace',
    'PluginConfig',
    '{ group: "", kind: Service, name: web }',
  ],
]

describe('references to other namespaces', () => {
  const apart = new SpecRules({
    clusterDomain: 'cluster.local',
    trustDomain: 'trust.example',
    osmNamespace: 'osm-system',
    crossNamespace: () => consentNeeded,
    gatewayNames: () => ['gateway.example.com'],
  })
  const plain = world.replaceAll('global: [', 'rules: [], global: [')
  const found = (text: string): readonly string[] =>
    apart
      .checkAll(snapshotOf(plain, text))
      .filter(({ object: of }) => of?.namespace !== 'default')
      .map(({ severity, code, field }) => `${severity} ${code} ${field ?? ''}`)
  const inAaa = (text: string): string => text.replace('metadata: { ', 'metadata: { namespace: aaa, ')
  const grant = (kind: string, to: string): string => {
    const group = kind === 'PluginConfig' ? 'plugin.flomesh.io' : 'policy.openservicemesh.io'
    return object(
      policy,
      'ReferenceGrant',
      'r',
      `{ from: [{ group: ${group}, kind: ${kind}, namespace: aaa }], to: [${to}] }`,
    )
  }

  it.each(foreign)('are reported until the namespace grants them: %s', (_title, text, expected, kind, to) => {
    expect(found(inAaa(text))).toContain(expected)
    expect(found(`${inAaa(text)}\n---\n${grant(kind, to)}`)).not.toContain(expected)
  })

  it.each(foreign)('say which grant is missing: %s', (_title, text, _expected, kind) => {
    const problem = apart
      .checkAll(snapshotOf(plain, inAaa(text)))
      .find(({ code }) => code === 'OSM_SPEC_REF_NOT_PERMITTED')
    expect(problem?.message).toContain('needs a ReferenceGrant in namespace default with from {group: ')
    expect(problem?.message).toContain(`kind: ${kind}, namespace: aaa}`)
  })

  it.each<[string, string, readonly string[]]>([
    ['a name that no one trusts', 'caller.example.com', []],
    ['a name that its own namespace trusts', 'own.example.com', []],
    ['the name of the ingress gateway', 'Gateway.Example.com', ['error OSM_SPEC_CERT_NAME spec.subjectAltNames[0]']],
    [
      'a name that another namespace trusts by an IngressBackend',
      'Bank-Client.example.com.',
      ['error OSM_SPEC_REF_NOT_PERMITTED spec.subjectAltNames[0]'],
    ],
    [
      'a name that another namespace trusts by an AccessControl',
      'reports.example.com',
      ['error OSM_SPEC_REF_NOT_PERMITTED spec.subjectAltNames[0]'],
    ],
  ])('are certificates too: %s', (_title, name, expected) => {
    const trusting = (kind: string, principal: string): string =>
      object(
        policy,
        kind,
        'trusts',
        `{ backends: [{ name: web, port: { number: 8080, protocol: https } }], sources: [{ kind: AuthenticatedPrincipal, name: ${principal} }] }`,
      )
    const objects = [
      trusting('IngressBackend', 'bank-client.example.com'),
      trusting('AccessControl', 'reports.example.com'),
      inAaa(trusting('IngressBackend', 'own.example.com')).replace('name: web,', 'name: none,'),
      inAaa(object(policy, 'AccessCert', 'c', `{ subjectAltNames: [${name}], secret: { name: s, namespace: aaa } }`)),
    ].join('\n---\n')
    const certs = (more = ''): readonly string[] =>
      apart
        .checkAll(snapshotOf(plain, objects + more))
        .filter(({ object: of }) => of?.kind === 'AccessCert')
        .map(({ severity, code, field }) => `${severity} ${code} ${field ?? ''}`)
    expect(certs()).toEqual(expected)
    const permission = `{ from: [{ group: policy.openservicemesh.io, kind: AccessCert, namespace: aaa }], to: [{ group: policy.openservicemesh.io, kind: IngressBackend }, { group: policy.openservicemesh.io, kind: AccessControl, name: trusts }] }`
    const left = expected.filter((text) => !text.includes('REF_NOT_PERMITTED'))
    expect(certs(`\n---\n${object(policy, 'ReferenceGrant', 'r', permission)}`)).toEqual(left)
  })

  const namespaceOf = (name: string, annotations = '{}'): string =>
    `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name}, annotations: ${annotations} } }`
  const injection = (value: string): string => `{ openservicemesh.io/sidecar-injection: ${value} }`
  const gatewayConfig = (name: string): string =>
    `{ apiVersion: config.openservicemesh.io/v1alpha2, kind: MeshConfig, metadata: { name: c, namespace: osm-system }, spec: { certificate: { ingressGateway: { subjectAltNames: [${name}], validityDuration: 1h, secret: { name: s, namespace: osm-system } } } } }`
  const certOf = (name: string): string =>
    inAaa(object(policy, 'AccessCert', 'c', `{ subjectAltNames: [${name}], secret: { name: s, namespace: aaa } }`))
  const edge = 'edge.edge.trust.example'
  const grantedTo = (namespace: string): string =>
    target(
      `{ destination: { kind: ServiceAccount, name: web, namespace: default }, sources: [{ kind: ServiceAccount, name: edge, namespace: ${namespace} }], rules: [{ kind: HTTPRouteGroup, name: routes }] }`,
    )

  it.each<[string, string, readonly string[], string | undefined]>([
    ['outside the mesh', gatewayConfig(edge), [], undefined],
    ['in the namespace of the control plane', gatewayConfig('contour.osm-system.trust.example'), [], undefined],
    ['where injection is off', gatewayConfig(edge), [namespaceOf('edge', injection('disabled'))], undefined],
    ['where injection is on', gatewayConfig(edge), [namespaceOf('edge', injection('Enabled'))], 'gets sidecars'],
    [
      'where injection is unreadable',
      gatewayConfig(edge),
      [namespaceOf('edge', injection('perhaps'))],
      'gets sidecars',
    ],
    [
      'with a workload, where injection is off',
      gatewayConfig(edge),
      [
        namespaceOf('edge', injection('disabled')),
        workload('ports: [{ port: 80 }]')
          .replace('name: other', 'name: other, namespace: edge')
          .replace('serviceAccountName: web', 'serviceAccountName: edge'),
      ],
      'which workloads of the mesh have',
    ],
    [
      'that a rule of its namespace names',
      gatewayConfig(edge),
      [grantedTo('edge').replace('name: target', 'name: target, namespace: edge')],
      'which TrafficTarget edge/target names',
    ],
    // Another namespace must not be able to withdraw the certificate.
    ['that a rule of another namespace names', gatewayConfig(edge), [grantedTo('edge')], undefined],
    ['of another namespace', certOf(edge), [], 'which only namespace edge and that of the control plane may ask for'],
    ['of its own namespace', certOf('a.aaa.trust.example'), [namespaceOf('aaa')], undefined],
  ])(
    'let a caller from outside have the name of an account that no workload can have: %s',
    (_, asker, more, expected) => {
      const problems = apart
        .checkAll(snapshotOf(plain, asker, ...more))
        .filter(({ object: of }) => of?.kind === 'AccessCert' || of?.kind === 'MeshConfig')
      expect(problems.map(({ code }) => code)).toEqual(expected === undefined ? [] : ['OSM_SPEC_CERT_NAME'])
      expect(problems.map(({ message }) => message).join()).toContain(expected ?? '')
    },
  )

  it('are never a reason to refuse an object, because a grant may still come', () => {
    const [, egressOf = ''] = foreign[0] ?? []
    const snapshot = snapshotOf(plain, inAaa(egressOf))
    const object = snapshot.get('Egress', 'aaa', 'e')
    if (object === undefined) throw new Error('the Egress was not read')
    expect(
      apart.review(object, snapshot).filter(({ problem }) => problem.code === 'OSM_SPEC_REF_NOT_PERMITTED'),
    ).toMatchObject([{ pending: true }])
  })

  it('are reported for global gateways and for chains with namespace selectors outside the control plane', () => {
    const gateways = object(policy, 'EgressGateway', 'g', '{ global: [{ service: web, namespace: default }] }')
    expect(found(inAaa(gateways))).toEqual(['warning OSM_SPEC_REF_NOT_PERMITTED spec.global'])
    const chain = object(
      'plugin.flomesh.io/v1alpha1',
      'PluginChain',
      'p',
      '{ chains: [], selectors: { namespaceSelector: { matchLabels: { a: b } } } }',
    )
    expect(found(inAaa(chain))).toEqual(['warning OSM_SPEC_REF_NOT_PERMITTED spec.selectors.namespaceSelector'])
  })

  it('close no https egress of other namespaces by a server that speaks first', () => {
    const service = object('v1', 'Service', 'x', '{ ports: [{ name: x, port: 443, appProtocol: tcp-server-first }] }')
    const mine = (text: string): readonly string[] =>
      apart.checkAll(snapshotOf(plain, text)).flatMap(({ code, object: of }) => (of?.kind === 'Egress' ? [code] : []))
    expect(mine(inAaa(service))).toEqual([])
    expect(mine(service)).toEqual(['OSM_SPEC_PROTOCOL'])
  })

  it('of the Gateway API permit routes of the namespaces that they name, and are left alone where they are for others', () => {
    const grant = (from: string, to: string): string =>
      object('gateway.networking.k8s.io/v1beta1', 'ReferenceGrant', 'r', `{ from: [${from}], to: [${to}] }`)
    const found = (text: string): readonly string[] =>
      apart
        .checkAll(snapshotOf(plain, text))
        .flatMap(({ object: of, code, field = '' }) =>
          of?.kind === 'GatewayReferenceGrant' ? [`${code} ${field}`] : [],
        )
    const routes = '{ group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: aaa }'
    const gateways = '{ group: gateway.networking.k8s.io, kind: Gateway, namespace: aaa }'
    const tcp = '{ group: gateway.networking.k8s.io, kind: TCPRoute, namespace: aaa }'
    expect(
      found(grant(`${routes}, ${gateways}, ${tcp}`, '{ group: "", kind: Service }, { group: "", kind: Secret }')),
    ).toEqual([])
    expect(found(grant(gateways, '{ group: "", kind: Service, name: nowhere }'))).toEqual([])
    expect(found(grant(routes, '{ group: "", kind: Service, name: nowhere }'))).toEqual([
      'OSM_SPEC_REFERENCE spec.to[0].name',
    ])
    expect(found(grant(routes.replace('gateway.networking.k8s.io', '""'), '{ group: "", kind: Service }'))).toEqual([
      'OSM_SPEC_NO_EFFECT spec.from[0].group',
    ])
  })

  it('are told apart from grants that permit nothing the mesh asks about', () => {
    const bad = object(
      policy,
      'ReferenceGrant',
      'r',
      '{ from: [{ group: "", kind: Egress, namespace: aaa }, { group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: aaa }], to: [{ group: "", kind: Secret }, { group: "", kind: ServiceAcount }] }',
    )
    const problems = apart.checkAll(snapshotOf(plain, bad)).filter(({ object: of }) => of?.kind === 'ReferenceGrant')
    expect(problems.map(({ field }) => field)).toEqual(['spec.from[0].group', 'spec.to[1].kind'])
  })
})

describe('SpecRules', () => {
  it('finds nothing wrong with a mesh without fault', () => {
    expect(rules.checkAll(snapshotOf(world)).map(formatProblem)).toEqual([])
  })

  it('checks a snapshot once, and again when settings or places differ', () => {
    let consent = consentNeeded
    let line = 1
    const changing = new SpecRules({
      clusterDomain: 'cluster.local',
      trustDomain: 'trust.example',
      osmNamespace: 'osm-system',
      crossNamespace: () => consent,
      gatewayNames: () => [],
      locate: () => ({ kind: 'file', file: 'mesh.yaml', line, column: 1 }),
    })
    const service = object('v1', 'Service', 'x', '{ ports: [{ name: x, port: 443, appProtocol: tcp-server-first }] }')
    const snapshot = snapshotOf(world, service)
    const stepsOf = (): number => [...changing.checkInSteps(snapshot)].length
    const linesOf = (): readonly unknown[] => changing.checkAll(snapshot).map(({ origin }) => origin)

    expect(stepsOf()).toBeGreaterThan(0)
    expect(stepsOf()).toBe(0)
    expect(linesOf()).not.toEqual([])
    line = 7
    expect(new Set(linesOf().map((origin) => JSON.stringify(origin)))).toEqual(
      new Set(['{"kind":"file","file":"mesh.yaml","line":7,"column":1}']),
    )
    consent = { ...consentNeeded }
    expect(stepsOf()).toBeGreaterThan(0)
  })

  it('looks at one object, or one item of its lists, in each step', () => {
    const snapshot = snapshotOf(world)
    const checked = checkedKinds.flatMap((kind): readonly MeshObject[] => snapshot.list(kind))
    expect([...rules.checkInSteps(snapshot)].length).toBeGreaterThanOrEqual(checked.length)
    const backends = Array.from({ length: 100 }, (_, index) => `{ service: gone-${index}, weight: 1 }`).join(', ')
    const split = object(
      'split.smi-spec.io/v1alpha4',
      'TrafficSplit',
      'long',
      `{ service: web, backends: [${backends}] }`,
    )
    const more = [...rules.checkInSteps(snapshotOf(world, split))].length - [...rules.checkInSteps(snapshot)].length
    expect(more).toBeGreaterThanOrEqual(100)
  })

  it.each(cases)('finds %s', (_title, text, expected, message) => {
    const problems = rules.checkAll(snapshotOf(world, text))
    expect(problems.map(({ severity, code, field }) => `${severity} ${code} ${field ?? ''}`)).toEqual([expected])
    expect(problems[0]?.message).toContain(message)
    expect(problems[0]).toMatchObject({ object: { namespace: expect.any(String) }, origin: { file: 'f.yaml' } })
  })

  it('finds after each edit what a check from scratch finds', () => {
    const builder = new SnapshotBuilder(['x'])
    const mesh = load(world)
    const kept = apart()
    const expectSame = (): readonly string[] => {
      const found = kept.checkAll(builder.snapshot).map(formatProblem)
      expect(found).toEqual(apart().checkAll(builder.snapshot).map(formatProblem))
      return found
    }
    builder.apply([{ source: 'x', upserts: mesh, deletes: [] }])
    expect(expectSame()).toEqual([])
    const withProblems = cases.filter(([, text]) => {
      const edited = load(text)
      builder.apply([{ source: 'x', upserts: edited, deletes: [] }])
      const { length } = expectSame()
      builder.apply([{ source: 'x', upserts: [], deletes: edited.map(objectKey) }])
      expectSame()
      builder.apply([{ source: 'x', upserts: mesh, deletes: [] }])
      expect(expectSame()).toEqual([])
      return length > 0
    })
    expect(withProblems.length).toBeGreaterThan(cases.length / 2)
    for (const one of mesh) {
      builder.apply([{ source: 'x', upserts: [], deletes: [objectKey(one)] }])
      expectSame()
      builder.apply([{ source: 'x', upserts: [one], deletes: [] }])
      expect(expectSame()).toEqual([])
    }
  })

  it('checks only the objects that have read what changed', () => {
    const builder = new SnapshotBuilder(['x'])
    const kept = apart()
    const stepsAfter = (upserts: readonly MeshObject[]): number => {
      builder.apply([{ source: 'x', upserts, deletes: [] }])
      return [...kept.checkInSteps(builder.snapshot)].length
    }
    const named = (index: number, selected: number, port = 80): readonly MeshObject[] =>
      load(
        [
          object(
            'v1',
            'Service',
            `s-${index}`,
            `{ selector: { app: a-${selected} }, ports: [{ port: 80, targetPort: x }] }`,
          ),
          workload(`command: [x], ports: [{ name: x, port: ${port} }]`)
            .replace('name: other', `name: w-${index}, labels: { app: a-${index} }`)
            .replace('serviceAccountName: web', `serviceAccountName: a-${index}`),
        ].join('\n---\n'),
      )
    const mesh = Array.from({ length: 100 }, (_, index) => named(index, index)).flat()
    const first = stepsAfter(mesh)
    // A step for each kind, and one for each object that is checked.
    const unchanged = checkedKinds.length
    expect(first).toBe(unchanged + mesh.length)
    expect(stepsAfter(load(object('v1', 'ServiceAccount', 'more', '{}')))).toBe(unchanged)
    expect(stepsAfter(named(5, 6))).toBe(unchanged + 1)
    // The workload, and both services that select it.
    expect(stepsAfter(named(6, 6, 81))).toBe(unchanged + 3)
  })

  it('finds nothing wrong with https and server-first egress of different accounts', () => {
    const others = object('v1', 'ServiceAccount', 'other', '{}')
    const mail = egress('ports: [{ number: 443, protocol: tcp-server-first }]', 'mail').replace(
      'name: client',
      'name: other',
    )
    expect(rules.checkAll(snapshotOf(world, `${others}\n---\n${mail}`)).map(formatProblem)).toEqual([])
  })

  it('looks at every kind that can be wrong beside others', () => {
    const never = [
      'Namespace',
      'ServiceAccount',
      'TCPRoute',
      'ServiceExport',
      'GlobalTrafficPolicy',
      'WorkloadInstance',
      // What is wrong with a route shows when policies are computed.
      'HTTPRoute',
      'GRPCRoute',
      'GatewayTCPRoute',
      'TLSRoute',
    ]
    expect([...checkedKinds, ...never].sort()).toEqual(allKinds())
  })

  it('names the line of the field', () => {
    const text =
      'apiVersion: split.smi-spec.io/v1alpha4\nkind: TrafficSplit\nmetadata:\n  name: s\nspec:\n  service: web\n  backends:\n    - service: a\n      weight: 1\n'
    const located = new SpecRules({
      osmNamespace: 'osm-system',
      crossNamespace: () => consentNeeded,
      gatewayNames: () => ['gateway.example.com'],
      clusterDomain: 'c',
      trustDomain: 't',
      locate: (key, field) => ({ kind: 'file', file: `${key}#${field}`, line: 8, column: 7 }),
    })
    expect(located.checkAll(snapshotOf(text)).map(formatProblem)).toEqual([
      'TrafficSplit/default/s#spec.backends[0].service:8:7: error: TrafficSplit default/s: spec.backends[0].service: Service default/a does not exist [OSM_SPEC_SPLIT_SERVICE]',
      'TrafficSplit/default/s#spec.service:8:7: error: TrafficSplit default/s: spec.service: Service default/web does not exist [OSM_SPEC_SPLIT_SERVICE]',
    ])
  })

  it('checks one object as if it were there, without taking its older version for a rival', () => {
    const snapshot = snapshotOf(world)
    const [same] = load(split('{ service: web, backends: [{ service: web-v2, weight: 1 }] }'))
    const [other] = load(split('{ service: web, backends: [{ service: web-v2, weight: 1 }] }', 'another'))
    if (same === undefined || other === undefined) throw new Error('two objects')
    expect(rules.check(same, snapshot)).toEqual([])
    expect(rules.check(other, snapshot)).toMatchObject([{ code: 'OSM_SPEC_CONFLICT' }])
  })

  it('finds the same whatever order objects came in', () => {
    const texts = [world, ...cases.map(([, text]) => text)]
    const documents = texts.flatMap((text) => splitDocuments(text).map((document) => document.text))
    const objects = new Map(documents.flatMap((text) => load(text)).map((it) => [objectKey(it), it]))
    const found = [[...objects.values()], [...objects.values()].reverse()].map((upserts) => {
      const builder = new SnapshotBuilder(['x'])
      for (const one of upserts) builder.apply([{ source: 'x', upserts: [one], deletes: [] }])
      return rules.checkAll(builder.snapshot).map(formatProblem)
    })
    expect(found[0]?.length).toBeGreaterThan(10)
    expect(found[0]).toEqual(found[1])
  })
})
