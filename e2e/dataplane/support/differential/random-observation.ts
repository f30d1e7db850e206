import fc from 'fast-check'

import { meshConfig } from '../yaml.js'
import { numbered } from './random-names.js'
import { address, duration, headerName, headerValue, mostly } from './random-values.js'

/* Random objects that say how sidecars log, trace and speak TLS. */

const port = fc.constantFrom(0, 80, 4317, 65_535)

const format = fc.oneof(
  headerName.map((name) => `%REQ(${name})% %DURATION%`),
  headerName.map((name) => JSON.stringify({ value: `%RESP(${name}?X-OTHER):40%`, inner: { code: '%RESPONSE_CODE%' } })),
  fc.constantFrom(
    '',
    '%',
    '%NONSENSE%',
    '%ENVIRONMENT(HOME)%',
    '%REQ(a b)%',
    '%START_TIME(%s)%',
    '{',
    '{"a": 1}',
    '%%',
    'é\n',
  ),
)

const telemetry = numbered(
  'policy.openservicemesh.io/v1alpha1',
  'Telemetry',
  { name: 'telemetry', last: 9 },
  fc.record(
    {
      selector: mostly(fc.constantFrom({}, { app: 'web' }, { tier: 'server' }, { app: 'none' })),
      accessLog: mostly(
        fc.record(
          {
            format: mostly(format),
            openTelemetry: fc.record(
              {
                extensionService: fc.nat(3).map((number) => ({ namespace: 'a', name: `extension${number}` })),
                attributes: fc.dictionary(headerName, headerValue, { maxKeys: 2 }),
              },
              { requiredKeys: ['extensionService'] },
            ),
          },
          { requiredKeys: [] },
        ),
      ),
    },
    { requiredKeys: [] },
  ),
)

const extensionService = numbered(
  'config.openservicemesh.io/v1alpha2',
  'ExtensionService',
  { home: fc.constant('a'), name: 'extension', last: 2 },
  fc.record(
    { host: mostly(address), port: mostly(port), protocol: fc.constantFrom('grpc', 'udp'), connectTimeout: duration },
    { requiredKeys: ['host', 'port'] },
  ),
)

const version = fc.constantFrom('TLS_AUTO', 'TLSv1_0', 'TLSv1_2', 'TLSv1_3')
const ciphers = fc.subarray([
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  '[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-ECDSA-CHACHA20-POLY1305]',
  'AES128-SHA',
  'NO-SUCH-SUITE',
  '[AES128-SHA|none]',
  'TLS_AES_128_GCM_SHA256',
  '',
])
const curves = fc.subarray(['P-256', 'X25519', 'P-384', 'secp256r1', 'NO-SUCH-CURVE', ''])

/** The configuration of the mesh: how sidecars speak TLS, trace, request authorization and balance. */
const config = fc
  .record({
    sidecar: fc.record(
      {
        tlsMinProtocolVersion: mostly(version),
        tlsMaxProtocolVersion: mostly(version),
        cipherSuites: mostly(ciphers),
        ecdhCurves: mostly(curves),
        sidecarTimeout: mostly(fc.integer({ min: -1, max: 100_000 })),
        localProxyMode: fc.constantFrom('Localhost', 'PodIP'),
      },
      { requiredKeys: [] },
    ),
    traffic: fc.record(
      {
        enablePermissiveTrafficPolicyMode: fc.boolean(),
        enableEgress: fc.boolean(),
        http1PerRequestLoadBalancing: fc.boolean(),
        http2PerRequestLoadBalancing: fc.boolean(),
        policyWithdrawalTimeout: duration,
        inboundExternalAuthorization: fc.record({
          enable: fc.boolean(),
          address,
          port: mostly(port),
          statPrefix: headerValue,
          timeout: duration,
          failureModeAllow: fc.boolean(),
        }),
      },
      { requiredKeys: ['enablePermissiveTrafficPolicyMode', 'enableEgress'] },
    ),
    observability: fc.record(
      {
        tracing: fc.record({
          enable: fc.boolean(),
          address,
          port: mostly(port),
          endpoint: fc.constantFrom('/api/v2/spans', '/v1/traces', '', 'a b'),
          sampledFraction: fc.constantFrom('1.0', '0.01', '0', '2', '-1', 'half'),
          provider: fc.constantFrom('zipkin', 'opentelemetry'),
        }),
      },
      { requiredKeys: [] },
    ),
    featureFlags: fc.record({
      enableSidecarActiveHealthChecks: fc.boolean(),
      enableEgressPolicy: fc.constant(true),
      enableIngressBackendPolicy: fc.constant(true),
      enableRetryPolicy: fc.constant(true),
    }),
  })
  .map((spec) => meshConfig(spec))

/** Telemetry, and one MeshConfig. */
export const randomObservation: fc.Arbitrary<readonly string[]> = fc
  .tuple(
    config,
    fc.array(telemetry, { minLength: 3, maxLength: 8 }),
    fc.array(extensionService, { minLength: 1, maxLength: 3 }),
  )
  .map(([first, ...rest]) => [first, ...rest.flat()])
