import { retry, retryPolicy, setting, type ValidationCase, webOfShop } from './faultless-mesh.js'

/** Faults of UpstreamTrafficSettings and Retries. */
export const upstreamCases: readonly ValidationCase[] = [
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
    'no Egress of namespace "default" names "external"',
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
    'already has UpstreamTrafficSetting default/setting, which takes precedence',
  ],
  [
    'a second setting whose host is written in another way',
    setting('{ host: web.default }', 'z'),
    'error OSM_SPEC_CONFLICT spec.host',
    'already has UpstreamTrafficSetting default/setting, which takes precedence',
  ],
  [
    'limits of one instance',
    setting(
      '{ host: web-0.web.default.svc, httpRoutes: [{ path: /, rateLimit: { local: { requests: 1, unit: hour } } }] }',
    ),
    'warning OSM_SPEC_NO_EFFECT spec.host',
    'set them for web.default.svc.cluster.local',
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
    'is missing: it defines which requests are slow',
  ],
  [
    'a share of more than all',
    setting('{ host: web.default, connectionSettings: { http: { circuitBreaking: { errorRatioThreshold: 50 } } } }'),
    'warning OSM_SPEC_NO_EFFECT spec.connectionSettings.http.circuitBreaking.errorRatioThreshold',
    'is a ratio',
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
    'at most 16384 bytes',
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
    'set spec.rateLimit.global.http',
  ],
  [
    'a repeated route',
    setting(
      '{ host: web.default, httpRoutes: [{ path: /, rateLimit: { local: { requests: 1, unit: hour } } }, { path: /, rateLimit: { local: { requests: 2, unit: hour } } }] }',
    ),
    'error OSM_SPEC_CONFLICT spec.httpRoutes[1].path',
    'the path of an earlier entry',
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
    '"a b" is not a header name',
  ],
  [
    'a bad duration',
    setting('{ host: web.default, connectionSettings: { tcp: { connectTimeout: 5 } } }'),
    'error OSM_SPEC_DURATION spec.connectionSettings.tcp.connectTimeout',
    '"5" is not a duration such as 5s',
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
    'must have exactly one condition for header x',
  ],

  [
    'a retry to services of a namespace that has none',
    retry(
      `{ source: { kind: ServiceAccount, name: client, namespace: default }, destinations: [{ kind: Service, name: '*', namespace: shop }], ${retryPolicy} }`,
    ),
    'warning OSM_SPEC_REFERENCE spec.destinations[0].name',
    'shop/* does not name a Service',
  ],
  [
    'a retry to a name that no service has anywhere',
    retry(
      `{ source: { kind: ServiceAccount, name: client, namespace: default }, destinations: [{ kind: Service, name: wob, namespace: '*' }, { kind: Service, name: '*', namespace: '*' }], ${retryPolicy} }`,
    ),
    'warning OSM_SPEC_REFERENCE spec.destinations[0].name',
    '*/wob does not name a Service',
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
    '"bad-luck" is unknown',
  ],
  [
    'a retry with a bad timeout',
    retry(
      `{ source: { kind: ServiceAccount, name: client, namespace: default }, destinations: [{ kind: Service, name: web, namespace: default }], ${retryPolicy.replace('perTryTimeout: 1s', 'perTryTimeout: 1')} }`,
    ),
    'error OSM_SPEC_DURATION spec.retryPolicy.perTryTimeout',
    '"1" is not a duration',
  ],
]
