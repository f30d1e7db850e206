/**
 * The guides of OSM and osm-edge, by their titles in our words. None of them is run as it stands by a test: they need a public cluster, public images and
 * programs of others. What is listed are tests that do the same with inputs of our own, and what differs for a reader.
 *
 * @typedef {object} Guide
 * @property {string} name what it is about
 * @property {'OSM' | 'osm-edge' | 'both'} of whose guide it is
 * @property {'covered' | 'partly' | 'differs' | 'not covered'} outcome
 * @property {string} [note] what is different, or left out; always there unless it is covered
 * @property {readonly string[]} tests
 * @property {string} [walked] what of it was run by hand, class envoy, as a reader would: on the local cluster, or in standalone mode where it says so
 */

const scenario = (/** @type {string} */ name) => `packages/driver-testkit/scenarios/${name}.yaml`
const dataplane = (/** @type {string} */ name) => `e2e/dataplane/${name}.test.ts`
const api = (/** @type {string} */ name) => `e2e/api/${name}.test.ts`
const cluster = (/** @type {string} */ name) => `e2e/cluster/tests/${name}.test.ts`

/** @type {readonly Guide[]} */
const guides = [
  {
    name: 'install with the CLI and with Helm',
    of: 'both',
    outcome: 'covered',
    walked: 'helm install, and `osm install`, `uninstall` and `mesh list`, with a collector as host:port',
    tests: [api('cli-install'), cluster('install')],
  },
  {
    name: 'upgrade',
    of: 'both',
    outcome: 'differs',
    note: 'values with images that are too old or memory limits that are too low are refused. A MeshConfig with such an image gets a warning; see the table in the installation guide. An image with a digest only, as in the guides, has no version to check',
    walked:
      '`osm mesh upgrade`, then `helm upgrade` with a values file: requests succeed after each, and the MeshConfig keeps its settings; the image of the guide, Envoy 1.19, gets the warning',
    tests: [api('upgrade'), api('crds-upgrade'), api('chart-values')],
  },
  { name: 'uninstall and clean up', of: 'both', outcome: 'covered', tests: [api('uninstall'), api('cli-install')] },
  {
    name: 'bookstore: deploy, permissive mode, SMI access',
    of: 'both',
    outcome: 'covered',
    walked:
      'standalone: buyer and thief in permissive mode; then the HTTPRouteGroup and the TrafficTarget: 200 for the buyer, nothing for the thief until it is a source, 403 for a path without a rule',
    tests: [cluster('bookstore'), dataplane('demo')],
  },
  {
    name: 'traffic split between versions',
    of: 'both',
    outcome: 'covered',
    tests: [scenario('traffic-split'), cluster('trafficsplit')],
  },
  {
    name: 'canary rollout',
    of: 'both',
    outcome: 'covered',
    walked: 'two versions behind an apex, split 25 to 75, by TrafficSplit v1alpha2',
    tests: [scenario('traffic-split'), dataplane('http-policy')],
  },
  {
    name: 'permissive traffic mode',
    of: 'both',
    outcome: 'covered',
    walked: 'curl calls httpbin, with the mode on and off',
    tests: [scenario('permissive'), cluster('permissive')],
  },
  {
    name: 'TCP traffic routing',
    of: 'both',
    outcome: 'covered',
    walked:
      'standalone: an echo server in permissive mode; in SMI mode, refused before the TCPRoute and the TrafficTarget exist, answered afterwards',
    tests: [scenario('tcp-connectivity'), scenario('tcp-server-first')],
  },
  {
    name: 'StatefulSets',
    of: 'OSM',
    outcome: 'covered',
    walked:
      'standalone: the Services of the guide with three instances, called by the name of the Service and of each instance, on three ports',
    tests: [scenario('statefulset'), dataplane('ordinary-services.transparent')],
  },
  {
    name: 'egress passthrough',
    of: 'both',
    outcome: 'covered',
    walked: 'standalone: a server outside the mesh: no response with egress disabled, 200 with egress enabled',
    tests: [scenario('egress')],
  },
  {
    name: 'egress policy, by host and by address',
    of: 'both',
    outcome: 'covered',
    note: '`https` with addresses and without hosts, as for the API server, matches by address',
    walked: 'TCP to an address: refused before the Egress exists, allowed afterwards',
    tests: [
      scenario('egress-policy'),
      dataplane('egress.transparent'),
      'packages/core/src/catalog/policy/egress/egress-plan.test.ts',
    ],
  },
  {
    name: 'egress gateway',
    of: 'osm-edge',
    outcome: 'covered',
    note: 'class envoy has no `sock5`',
    tests: [scenario('egress-gateway'), 'e2e/pipy/egress-gateways.test.ts'],
  },
  { name: 'mutual TLS at the egress', of: 'osm-edge', outcome: 'covered', tests: [dataplane('egress-tls')] },
  {
    name: 'ingress by HTTP and HTTPS: Contour, nginx, Traefik, Flomesh',
    of: 'both',
    outcome: 'differs',
    note: 'the chart does not include a gateway. The namespace of a gateway need not be enrolled. A client certificate `<account>.<namespace>.cluster.local` is issued if no workload of the mesh can have that identity',
    walked:
      'nginx with HTTPS, with the names of the guide: MeshConfig, IngressBackend, client certificate; then with its namespace enrolled with sidecars, and removed again',
    tests: [
      scenario('ingress-http'),
      scenario('ingress-https'),
      cluster('ingress'),
      'packages/kubernetes/src/endpoints/named-endpoints-provider.integration.test.ts',
    ],
  },
  {
    name: 'access control by Service and by address range',
    of: 'osm-edge',
    outcome: 'covered',
    note: 'the Service may be outside the mesh',
    walked:
      'standalone: a caller outside the mesh: refused without an AccessControl, 200 with its address, refused with another range',
    tests: [scenario('ingress-access-control'), 'packages/core/src/endpoints/named-services.test.ts'],
  },
  {
    name: 'circuit breaking inside the mesh',
    of: 'both',
    outcome: 'covered',
    walked: 'twelve calls at once over one connection: five 200, seven 503',
    tests: [dataplane('circuit-breaker'), scenario('circuit-breaker')],
  },
  {
    name: 'circuit breaking for a host outside the mesh',
    of: 'both',
    outcome: 'partly',
    note: 'a test checks that the objects are accepted, also for a Service outside the mesh; the limits are tested with another host',
    walked:
      'standalone: ten calls at once to a host of an Egress with one connection and one pending request: two 200, eight 503',
    tests: ['packages/core/src/spec/validation.test.ts', dataplane('upstream-settings')],
  },
  {
    name: 'retry policy',
    of: 'both',
    outcome: 'differs',
    note: 'the Retry must be in the namespace of its source; otherwise, its status reports the problem',
    walked:
      'the objects of the guide are accepted; standalone: five retries of a 503 in the statistics, as in the guide, and six requests at the server',
    tests: [
      dataplane('retry'),
      scenario('retry-policy'),
      'packages/kubernetes/src/source/kubernetes-source.integration.test.ts',
    ],
  },
  {
    name: 'local rate limits of connections and requests',
    of: 'both',
    outcome: 'covered',
    walked: 'three requests a minute: 200 three times, then 429',
    tests: [scenario('local-rate-limit')],
  },
  {
    name: 'exclusion of outbound addresses and ports',
    of: 'both',
    outcome: 'covered',
    tests: [scenario('ip-exclusion'), scenario('port-exclusion')],
  },
  {
    name: 'sidecar injection, namespaces, onboarding',
    of: 'both',
    outcome: 'covered',
    walked: 'namespaces added with and without injection, pods restarted',
    tests: [api('injector'), api('cli-namespaces')],
  },
  {
    name: 'application protocol selection',
    of: 'both',
    outcome: 'covered',
    tests: ['packages/core/src/spec/protocol.test.ts', cluster('protocols')],
  },
  {
    name: 'health probes of applications',
    of: 'both',
    outcome: 'covered',
    tests: [dataplane('probes'), cluster('pod-lifecycle')],
  },
  {
    name: 'health probes of the control plane',
    of: 'both',
    outcome: 'covered',
    tests: ['packages/program/src/servers.integration.test.ts'],
  },
  {
    name: 'external authorization (OPA)',
    of: 'both',
    outcome: 'covered',
    note: 'tested with another server instead of OPA',
    walked: 'the Service and the MeshConfig of the guide: 403 while the server denies all, 200 once it allows all',
    tests: [dataplane('external-authorization')],
  },
  {
    name: 'metrics and Prometheus',
    of: 'both',
    outcome: 'covered',
    note: 'a real Prometheus evaluates all expressions of the dashboards; no test runs Grafana',
    tests: [
      api('metrics-queries'),
      'e2e/pipy/metrics-queries.test.ts',
      dataplane('request-metrics'),
      api('cli-namespaces'),
    ],
  },
  {
    name: 'tracing',
    of: 'both',
    outcome: 'covered',
    note: 'the cluster is named `sidecar-tracing-cluster` in `config_dump`',
    walked:
      'the Service and the patch of the guide, with a Zipkin collector instead of Jaeger: spans of both sidecars, and the cluster in `osm proxy get config_dump`',
    tests: [dataplane('telemetry'), 'e2e/pipy/tracing.test.ts'],
  },
  {
    name: 'logs, Fluent Bit',
    of: 'both',
    outcome: 'covered',
    note: 'Fluent Bit reads the log of the controller from a host path; its configuration is a Secret',
    tests: [api('chart-values')],
  },
  { name: 'reconciler', of: 'both', outcome: 'covered', tests: [api('bootstrap')] },
  { name: 'MeshConfig', of: 'both', outcome: 'covered', tests: [api('controller')] },
  {
    name: 'certificates: tresor, Vault, cert-manager',
    of: 'both',
    outcome: 'covered',
    tests: [
      dataplane('identity'),
      dataplane('vault'),
      dataplane('workload-api'),
      api('cert-manager'),
      api('spire'),
      api('chart-values'),
    ],
  },
  { name: 'high availability', of: 'both', outcome: 'covered', tests: [api('replicas'), api('replica-loss')] },
  {
    name: 'plugins (IAM, CORS, fault injection, mirroring)',
    of: 'osm-edge',
    outcome: 'differs',
    note: 'scripts of osm-edge are reported and refused; rewrite them as described in the guide to plugins',
    walked:
      'standalone, class pipy: the chains and configurations of fault injection and CORS with rewritten scripts: 20 of 40 requests got 400, and responses had the CORS headers. Unchanged scripts of the guides are reported. Not run: IAM, mirroring',
    tests: ['e2e/pipy/plugins.test.ts', 'e2e/pipy/kubernetes/plugins.test.ts'],
  },
  {
    name: 'services of several clusters',
    of: 'osm-edge',
    outcome: 'partly',
    note: 'imports and traffic policies work; exports do not configure gateways. A caller needs a Service of the same name. Endpoints with a path are ignored',
    walked:
      'the exports, imports and traffic policies of the guides are accepted; fields without effect are reported. Not run: requests between clusters, because there is only one local cluster',
    tests: [dataplane('clusters')],
  },
  {
    name: 'interception by eBPF',
    of: 'osm-edge',
    outcome: 'not covered',
    note: 'refused',
    tests: [api('chart-values')],
  },
  {
    name: 'Flagger, Dapr, Pyroscope',
    of: 'both',
    outcome: 'not covered',
    note: 'no test runs these programs',
    tests: [],
  },
  {
    name: 'troubleshooting with the CLI',
    of: 'both',
    outcome: 'covered',
    walked: '`osm verify connectivity` and `ingress`, without the debug server',
    tests: [api('cli-verify'), api('cli-policy')],
  },
]

/**
 * @param {(path: string) => string | undefined} read
 * @returns {readonly string[]} what is wrong with the rows
 */
export function findGuideFaults(read) {
  return guides.flatMap(({ name, outcome, note, tests }) => [
    ...tests.filter((path) => read(path) === undefined).map((path) => `guides: ${name}: ${path} does not exist`),
    ...(outcome === 'covered' && tests.length === 0 ? [`guides: ${name}: no test covers it`] : []),
    ...(outcome !== 'covered' && note === undefined ? [`guides: ${name}: has no note about the difference`] : []),
  ])
}

/** The section of the page. */
export function renderGuides() {
  const lines = guides.map(({ name, of, outcome, note = '', tests, walked = '' }) => {
    const shown = tests.map((path) => `[${path.slice(path.lastIndexOf('/') + 1)}](../../${path})`).join(', ')
    return `| ${name} | ${of} | ${outcome} | ${note} | ${shown} | ${walked} |`
  })
  return [
    '## Guides of OSM and osm-edge\n',
    'Tests do not run the guides unchanged, because the guides need public images and third-party programs. The tests cover the same features with their own inputs. For `partly` and `differs`, the note describes the difference. The last column lists manual runs with class envoy and test applications instead of public images, on a [local cluster](../guides/cluster.md) or, if noted, in [standalone mode](../guides/standalone.md).\n',
    '| guide | of | outcome | note | tests | run by hand |',
    '| --- | --- | --- | --- | --- | --- |',
    ...lines,
    '',
  ].join('\n')
}
