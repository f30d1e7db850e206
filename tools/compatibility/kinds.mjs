import { never, works } from './row.mjs'

/** @typedef {import('./row.mjs').Section} Section */

/** Objects of each kind as people wrote them, in every version that is served. */
const storing = 'packages/core/src/spec/testdata/stored/accepted.yaml'
const reviewing = 'e2e/api/controller-webhook.test.ts'
const imports = 'packages/kubernetes/src/endpoints/kubernetes-endpoints-provider.integration.test.ts'

/** @type {Section} */
export const kinds = {
  title: 'Kinds',
  introduction:
    'Every kind is stored in the versions that OSM and osm-edge served, and has a status; see [custom resources](crds.md). `works` means that sidecars apply it.',
  rows: [
    works('TrafficTarget', ['e2e/api/install.test.ts', 'packages/core/src/catalog/testdata/in/traffic-target.yaml']),
    works('HTTPRouteGroup', ['e2e/dataplane/http-policy.test.ts', 'e2e/api/install.test.ts']),
    works('TCPRoute', 'e2e/dataplane/tcp.test.ts'),
    works('TrafficSplit', ['e2e/dataplane/http-policy.test.ts', 'e2e/api/crds-upgrade.test.ts']),
    works('MeshConfig', ['e2e/api/crds-upgrade.test.ts', 'e2e/api/controller.test.ts']),
    works('MeshRootCertificate', [storing, reviewing, 'e2e/cluster/tests/root-rotation.test.ts'], {
      note: '`spec.role` instead of an intent; `status.state` has the values of OSM, and `passive`; `status.componentStatuses` is not written',
    }),
    works(
      'Egress',
      ['packages/driver-testkit/scenarios/egress-policy.yaml', 'e2e/dataplane/egress-tls.test.ts', reviewing],
      {
        note: 'sidecars resolve host names; a Secret for `mtls` must be in the namespace of the Egress',
      },
    ),
    works(
      'IngressBackend',
      [
        'packages/driver-testkit/scenarios/ingress-http.yaml',
        'packages/driver-testkit/scenarios/ingress-https.yaml',
        reviewing,
      ],
      {
        note: '`matches` limits requests; OSM ignores it',
      },
    ),
    works('AccessControl', ['packages/driver-testkit/scenarios/ingress-access-control.yaml', storing, reviewing]),
    works('Retry', ['e2e/dataplane/retry.test.ts', 'packages/core/src/catalog/testdata/in/explicit.yaml', reviewing]),
    works(
      'UpstreamTrafficSetting',
      ['e2e/dataplane/upstream-settings.test.ts', 'e2e/dataplane/circuit-breaker.test.ts', storing, reviewing],
      { note: 'circuitBreaking: each worker of a sidecar counts separately; statuses of 500 and above are errors' },
    ),
    works('AccessCert', ['e2e/api/controller-duties.test.ts', storing, reviewing], {
      note: 'the Secret must be in the same namespace; names that a workload of the mesh can have are refused',
    }),
    works(
      'EgressGateway',
      [
        'packages/driver-testkit/scenarios/egress-gateway.yaml',
        'packages/driver-testkit/scenarios/egress-gateway-explicit.yaml',
        reviewing,
      ],
      {
        note: 'fails closed; class envoy has no `sock5`',
      },
    ),
    works('ReferenceGrant', ['packages/core/src/catalog/policy/namespaces.test.ts', storing], {
      note: 'new; modelled on the ReferenceGrant of the Gateway API: allows references from other namespaces',
    }),
    works('ExternalWorkload', ['packages/core/src/endpoints/plugins/external-workloads.test.ts', storing], {
      note: "new; modelled on Istio's WorkloadEntry and Linkerd's ExternalWorkload, see [endpoints outside the cluster](../guides/external-workloads.md)",
    }),
    works('{Telemetry,ExtensionService}', ['e2e/dataplane/telemetry.test.ts', storing], {
      note: 'from OSM after 1.2; apply to workloads of their namespace',
    }),
    works('{Plugin,PluginChain,PluginConfig}', ['e2e/pipy/kubernetes/plugins.test.ts', storing, reviewing], {
      note: 'for class pipy; scripts of osm-edge must be rewritten, see [plugins](../guides/plugins.md)',
    }),
    works('{ServiceImport,GlobalTrafficPolicy}', ['e2e/dataplane/clusters.test.ts', storing, imports], {
      note: 'gateways pass TLS through; endpoints with a path are ignored and reported',
    }),
    never(
      'ServiceExport',
      'gateways between clusters are not configured here and must pass connections on by server name; a warning says so',
      storing,
    ),
  ],
}
