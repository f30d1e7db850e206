import { object, routes, rule, source, split, target, type ValidationCase } from './faultless-mesh.js'

/** Faults of TrafficTargets, routes and TrafficSplits. */
export const smiCases: readonly ValidationCase[] = [
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
    'a destination that is not an account',
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
    'a source that is not an account',
    target(`{ destination: { kind: ServiceAccount, name: web }, ${rule}, sources: [{ kind: Group, name: all }] }`),
    'warning OSM_SPEC_ACCOUNT spec.sources[0].kind',
    'it is not allowed',
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
    'has no effect for a TCPRoute',
  ],

  [
    'a bad expression',
    routes('{ name: x, pathRegex: "/(" }'),
    'error OSM_SPEC_REGEX spec.matches[1].pathRegex',
    'is not an RE2 expression: missing closing )',
  ],
  [
    'an expression of another engine',
    routes('{ name: x, pathRegex: "/(?!x)" }'),
    'error OSM_SPEC_REGEX spec.matches[1].pathRegex',
    'is not an RE2 expression',
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
    'backtracking engine',
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
    '"a b" is not a header name',
  ],
  [
    'a condition on a header for identities',
    routes('{ name: x, headers: [{ X_Forwarded-Client_Cert: ".*" }] }'),
    'warning OSM_SPEC_NO_EFFECT spec.matches[1].headers[0].X_Forwarded-Client_Cert',
    'matches no request',
  ],
  [
    'a condition on an order to proxies',
    routes('{ name: x, headers: [{ x-envoy-max-retries: "5" }] }'),
    'warning OSM_SPEC_NO_EFFECT spec.matches[1].headers[0].x-envoy-max-retries',
    'matches no request',
  ],
  [
    'two matches of one name',
    routes('{ name: buy }'),
    'error OSM_SPEC_CONFLICT spec.matches[1].name',
    '"buy" is already the name of another match',
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
    'is already split by TrafficSplit default/split, which takes precedence',
  ],
  [
    'missing matches of a split',
    split('{ service: web, matches: [{ kind: HTTPRouteGroup, name: r }], backends: [{ service: web, weight: 1 }] }'),
    'error OSM_SPEC_ROUTE spec.matches[0].name',
    'HTTPRouteGroup default/r does not exist',
  ],
]
