import fc from 'fast-check'

import {
  kindDefinitions,
  makeObjectKey,
  type Kind,
  type KindMap,
  type MeshObject,
  type ObjectKey,
} from '../../src/spec/index.js'
import { uuidOf } from './mesh-fixture.js'

/*
 * Random meshes. Names come from small pools, so that objects often refer to each other, change each other's meaning, and collide. A part of
 * each mesh is always there, so that something is allowed; the rest is chance.
 */

const namespaces = ['a', 'b'] as const
const accounts = ['alice', 'bob', 'dotted.name'] as const
const apps = ['web', 'db'] as const
const servicePorts = [80, 81, 82, 90, 91, 92] as const

const namespace = fc.constantFrom(...namespaces)
const account = fc.constantFrom(...accounts)
const numbered = (prefix: string, count: number): fc.Arbitrary<string> => fc.nat(count - 1).map((n) => `${prefix}${n}`)

/** Namespace and name of an object: anywhere in the pool of its kind, or at a given place. */
interface Place {
  readonly space: fc.Arbitrary<string>
  readonly name: (prefix: string, count: number) => fc.Arbitrary<string>
}

const anywhere: Place = { space: namespace, name: numbered }
const at = (space: string, index: number): Place => ({
  space: fc.constant(space),
  name: (prefix) => fc.constant(`${prefix}${index}`),
})

type Labels = Readonly<Record<string, string>>

function object<K extends Kind>(
  kind: K,
  name: fc.Arbitrary<string>,
  space: fc.Arbitrary<string>,
  spec: fc.Arbitrary<unknown>,
  labels: fc.Arbitrary<Labels> = fc.constant({}),
): fc.Arbitrary<KindMap[K]> {
  const metadata = fc.record({ name, namespace: space, labels, annotations: fc.constant({}) })
  const { apiVersion } = kindDefinitions[kind]
  const origin = { kind: 'file', file: 'random.yaml', line: 1, column: 1 }
  // The generators below follow the schemas of their kinds; the golden tests read real YAML.
  return fc
    .tuple(metadata, spec)
    .map(([meta, body]) => ({ apiVersion, kind, metadata: meta, spec: body, origin }) as unknown as KindMap[K])
}

const workloadLabels = fc.record({ app: fc.constantFrom(...apps), version: fc.constantFrom('v1', 'v2') })
const selector = fc.oneof(
  { weight: 4, arbitrary: fc.record({ app: fc.constantFrom(...apps) }) },
  { weight: 2, arbitrary: workloadLabels },
  { weight: 1, arbitrary: fc.constant({}) },
)

const servicePort = fc.constantFrom(
  { port: 80, targetPort: 8080, protocol: 'TCP' },
  { port: 80, targetPort: 8080, protocol: 'TCP' },
  { name: 'http-x', port: 81, targetPort: 8080, protocol: 'TCP' },
  { name: 'grpc', port: 82, targetPort: 'main', protocol: 'TCP' },
  { name: 'tcp', port: 90, targetPort: 9090, protocol: 'TCP' },
  { name: 'tcp-server-first', port: 91, targetPort: 9090, protocol: 'TCP' },
  { name: 'tcp-alt', port: 92, targetPort: 'alt', protocol: 'TCP' },
  { port: 80, protocol: 'UDP' },
  { name: 'tcp-eighty', port: 80, targetPort: 9090, protocol: 'TCP' },
)

const service = ({ space, name }: Place): fc.Arbitrary<MeshObject> =>
  object(
    'Service',
    name('s', 4),
    space,
    fc.record({
      selector,
      ports: fc.uniqueArray(servicePort, {
        minLength: 1,
        maxLength: 3,
        selector: ({ protocol, port }) => `${protocol}${port}`,
      }),
      clusterIP: fc.constantFrom('10.96.0.1', '10.96.0.2', '10.96.0.3', '10.96.0.4', 'None', 'None'),
    }),
  )

const workloadPorts = fc.constantFrom(
  [
    { name: 'main', port: 8080 },
    { name: 'alt', port: 9090 },
  ],
  [
    { name: 'main', port: 8081, localPort: 18081 },
    { name: 'alt', port: 9090 },
  ],
  [],
)

/** A listener for every port of every service that there may be, all different. */
function listeners(first: number): Readonly<Record<string, { readonly address: string; readonly port: number }>> {
  const keys = namespaces.flatMap((space) =>
    [0, 1, 2, 3].flatMap((index) => servicePorts.map((port) => `${space}/s${index}|${port}`)),
  )
  return Object.fromEntries(keys.map((key, index) => [key, { address: '127.0.0.1', port: first + index }]))
}

/** The same for callers from outside, by ports of workloads. */
function outsideListeners(first: number): ReturnType<typeof listeners> {
  const keys = namespaces.flatMap((space) =>
    [0, 1, 2, 3].flatMap((index) => [8080, 8081, 9090].map((port) => `${space}/s${index}|${port}`)),
  )
  return Object.fromEntries(keys.map((key, index) => [key, { address: '127.0.0.1', port: first + index }]))
}

const instance = (place: Place): fc.Arbitrary<MeshObject> =>
  fc.tuple(place.space, place.name('w', 5), fc.boolean()).chain(([space, name, explicit]) => {
    const index = Number(name.slice(1)) + (space === 'a' ? 0 : 5)
    const allocations = {
      inbound: listeners(20_000 + 1000 * index),
      ingress: outsideListeners(20_250 + 1000 * index),
      outboundTcp: listeners(20_500 + 1000 * index),
      outboundHttp: { address: '127.0.0.1', port: 40_000 + index },
    }
    const spec = fc.record({
      uuid: fc.constant(uuidOf(`${space}/${name}`)),
      workload: fc.constant('w'),
      serviceAccountName: account,
      sidecarClass: fc.constant('envoy'),
      mode: fc.constant(explicit ? 'explicit' : 'transparent'),
      hostname: fc.constant(name),
      addresses: fc.constant([`10.0.${space === 'a' ? 0 : 1}.${index + 1}`]),
      ports: workloadPorts,
      ...(explicit ? { allocations: fc.constant(allocations) } : {}),
      ready: fc.constantFrom(true, true, true, false),
      createdAt: fc.constant('2024-01-01T00:00:00Z'),
    })
    return object('WorkloadInstance', fc.constant(name), fc.constant(space), spec, workloadLabels)
  })

const workload = ({ space, name }: Place): fc.Arbitrary<MeshObject> =>
  object(
    'Workload',
    name('m', 2),
    space,
    fc.record({
      serviceAccountName: account,
      replicas: fc.constant(1),
      ports: workloadPorts,
      env: fc.constant([]),
      restartPolicy: fc.constant('Always'),
      sidecar: fc.boolean(),
      address: fc.constantFrom('192.168.0.1', '192.168.0.2', 'outside.example'),
    }),
    workloadLabels,
  )

const httpMatch = fc.record(
  {
    name: numbered('m', 3),
    pathRegex: fc.constantFrom('/a', '/b.*', '.*', '/a|/b', '('),
    methods: fc.constantFrom(['GET'], ['*'], ['POST', 'GET'], []),
    headers: fc.constantFrom([{ 'x-user': 'root' }], [{ 'X-User': '.*' }, { 'x-user': 'r.*' }]),
  },
  { requiredKeys: ['name'] },
)

const routeGroup = ({ space, name }: Place): fc.Arbitrary<MeshObject> =>
  object('HTTPRouteGroup', name('g', 2), space, fc.record({ matches: fc.array(httpMatch, { maxLength: 3 }) }))

const tcpRoute = ({ space, name }: Place): fc.Arbitrary<MeshObject> =>
  object(
    'TCPRoute',
    name('t', 2),
    space,
    fc.constantFrom(
      {},
      { matches: { ports: [] } },
      { matches: { ports: [8080] } },
      { matches: { ports: [9090, 8081] } },
    ),
  )

const sourceKind = fc.constantFrom('ServiceAccount', 'ServiceAccount', 'ServiceAccount', 'ServiceAccount', 'Group')
const source = fc.record({ kind: sourceKind, name: account, namespace }, { requiredKeys: ['kind', 'name'] })

const rule = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record(
      {
        kind: fc.constant('HTTPRouteGroup'),
        name: numbered('g', 2),
        matches: fc.uniqueArray(numbered('m', 4), { maxLength: 2 }),
      },
      { requiredKeys: ['kind', 'name'] },
    ),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('TCPRoute'), name: numbered('t', 2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('UDPRoute'), name: numbered('t', 2) }) },
)

const trafficTarget = (place: Place): fc.Arbitrary<MeshObject> =>
  place.space.chain((space) => {
    const destination = fc.record({
      kind: fc.constant('ServiceAccount'),
      name: account,
      // Now and then in the wrong place.
      namespace: fc.constantFrom(space, space, space, space, ...namespaces),
    })
    const spec = fc.record({
      destination,
      rules: fc.array(rule, { minLength: 1, maxLength: 2 }),
      sources: fc.array(source, { minLength: 1, maxLength: 3 }),
    })
    return object('TrafficTarget', place.name('tt', 4), fc.constant(space), spec)
  })

const trafficSplit = ({ space, name }: Place): fc.Arbitrary<MeshObject> =>
  object(
    'TrafficSplit',
    name('sp', 3),
    space,
    fc.record(
      {
        service: fc.oneof(
          { weight: 5, arbitrary: numbered('s', 4) },
          { weight: 1, arbitrary: fc.constantFrom('s0.a', 's1.b.svc.cluster.local') },
        ),
        backends: fc.array(fc.record({ service: numbered('s', 5), weight: fc.integer({ min: -1, max: 3 }) }), {
          maxLength: 3,
        }),
        matches: fc.constantFrom(
          [],
          [{ kind: 'HTTPRouteGroup', name: 'g0' }],
          [
            { kind: 'HTTPRouteGroup', name: 'g1' },
            { kind: 'HTTPRouteGroup', name: 'g2' },
          ],
        ),
      },
      { requiredKeys: ['service', 'backends'] },
    ),
  )

const retry = ({ space, name }: Place): fc.Arbitrary<MeshObject> =>
  object(
    'Retry',
    name('r', 2),
    space,
    fc.record({
      source: fc.record({ kind: fc.constant('ServiceAccount'), name: account, namespace }),
      destinations: fc.array(
        fc.record({
          kind: fc.constant('Service'),
          name: fc.constantFrom('s0', 's1', 's2', 's3', '*'),
          namespace: fc.constantFrom(...namespaces, '*'),
        }),
        { maxLength: 2 },
      ),
      retryPolicy: fc.record({
        retryOn: fc.constantFrom('5xx', 'connect-failure, 5xx'),
        numRetries: fc.nat(3),
        perTryTimeout: fc.constantFrom('1s', 'soon'),
        retryBackoffBaseInterval: fc.constant('20ms'),
      }),
    }),
  )

const egressSource = fc.record({
  kind: fc.constant('ServiceAccount'),
  name: account,
  namespace,
})
const egressCertificate = fc.constantFrom(
  { issuer: 'osm' },
  { issuer: 'other', cert: { sn: 1, expiration: '2030-01-01T00:00:00Z', secret: { name: 'c', namespace: 'a' } } },
)

/** Hosts of the mesh and of no one, addresses that services have, and ports on which services are. */
const egress = ({ space, name }: Place): fc.Arbitrary<MeshObject> =>
  object(
    'Egress',
    name('e', 4),
    space,
    fc.record({
      sources: fc.array(
        fc.oneof(
          { weight: 4, arbitrary: egressSource },
          {
            weight: 1,
            arbitrary: fc.tuple(egressSource, egressCertificate).map(([source, mtls]) => ({ ...source, mtls })),
          },
        ),
        { maxLength: 3 },
      ),
      hosts: fc.array(
        fc.constantFrom(
          'x.example',
          'X.example.',
          '*.example',
          '*',
          's0.a',
          's1',
          'w1.s0.b.svc',
          '*.a.svc.cluster.local',
          '10.96.0.1',
          'fd00::1',
          '-',
        ),
        { maxLength: 4 },
      ),
      ipAddresses: fc.array(
        fc.constantFrom(
          '10.0.0.0/8',
          '10.1.2.3/8',
          '10.96.0.1/32',
          '10.96.0.2/32',
          '10.0.0.2/32',
          'fd00::/8',
          '::/0',
          'x',
        ),
        { maxLength: 3 },
      ),
      ports: fc.array(
        fc.record({
          number: fc.constantFrom(80, 90, 91, 443),
          protocol: fc.constantFrom('http', 'HTTPS', 'tcp', 'tcp-server-first', 'udp'),
        }),
        { maxLength: 3 },
      ),
      matches: fc.array(
        fc.oneof(
          fc.record({
            apiGroup: fc.constant('specs.smi-spec.io/v1alpha4'),
            kind: fc.constant('HTTPRouteGroup'),
            name: numbered('h', 3),
          }),
          fc.record({
            apiGroup: fc.constant('policy.openservicemesh.io/v1alpha1'),
            kind: fc.constantFrom('UpstreamTrafficSetting', 'Egress'),
            name: numbered('u', 3),
          }),
        ),
        { maxLength: 2 },
      ),
    }),
  )

/** Consent of a namespace to what others say about its accounts and Egress objects. */
const referenceGrant = ({ space, name }: Place): fc.Arbitrary<MeshObject> => {
  const policies = 'policy.openservicemesh.io'
  return object(
    'ReferenceGrant',
    name('c', 2),
    space,
    fc.record({
      from: fc.array(
        fc.record({ group: fc.constant(policies), kind: fc.constantFrom('Egress', 'EgressGateway'), namespace }),
        { minLength: 1, maxLength: 2 },
      ),
      to: fc.array(
        fc.oneof(
          fc.record(
            { group: fc.constant(''), kind: fc.constant('ServiceAccount'), name: account },
            { requiredKeys: ['group', 'kind'] },
          ),
          fc.record({ group: fc.constant(''), kind: fc.constant('Service') }),
          fc.record({ group: fc.constant(policies), kind: fc.constant('Egress') }),
        ),
        { minLength: 1, maxLength: 2 },
      ),
    }),
  )
}

const egressGateway = ({ space, name }: Place): fc.Arbitrary<MeshObject> => {
  const gateways = fc.array(fc.record({ service: numbered('s', 3), namespace }), { minLength: 1, maxLength: 2 })
  const ruled = fc.array(fc.record({ name: numbered('e', 3), namespace }), { minLength: 1, maxLength: 2 })
  return object(
    'EgressGateway',
    name('w', 2),
    space,
    fc.record(
      {
        global: gateways,
        rules: fc.array(fc.record({ egressPolicies: ruled, egressGateways: gateways }), { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
  )
}

/** The namespaces of the mesh, and that of the control plane. */
const everywhere: Place = { space: fc.constantFrom(...namespaces, 'osm-system'), name: numbered }

const upstreamSetting = ({ space, name }: Place): fc.Arbitrary<MeshObject> =>
  object(
    'UpstreamTrafficSetting',
    name('u', 3),
    space,
    fc.record(
      {
        host: fc
          .tuple(
            fc.constantFrom('s0', 's1', 's2', 'w1.s0'),
            namespace,
            fc.constantFrom('', '.svc', '.svc.cluster.local'),
          )
          .map(([service, of, suffix]) => `${service}.${of}${suffix}`),
        connectionSettings: fc.constantFrom(
          { tcp: { maxConnections: 1, connectTimeout: 'soon' } },
          { tcp: { connectTimeout: '1s' }, http: { maxRequests: 0, circuitBreaking: { errorAmountThreshold: 3 } } },
        ),
        rateLimit: fc.constantFrom(
          {
            local: {
              tcp: { connections: 1, unit: 'second' },
              http: { requests: 2, unit: 'hour', responseStatusCode: 429 },
            },
          },
          {
            global: {
              http: {
                rateLimitService: { host: 'limits', port: 1 },
                domain: 'd',
                failOpen: true,
                enableXRateLimitHeaders: false,
                responseStatusCode: 429,
              },
            },
          },
        ),
        httpRoutes: fc.array(
          fc.record({
            path: fc.constantFrom('/a', '/b.*', '.*', '('),
            rateLimit: fc.constantFrom(
              { local: { requests: 1, unit: 'minute', responseStatusCode: 503 } },
              { global: { descriptors: [{ entries: [{ remoteAddress: {} }] }] } },
            ),
          }),
          { maxLength: 3 },
        ),
      },
      { requiredKeys: ['host'] },
    ),
  )

const accessObject = (kind: 'IngressBackend' | 'AccessControl', { space, name }: Place): fc.Arbitrary<MeshObject> =>
  object(
    kind,
    name('i', 3),
    space,
    fc.record({
      backends: fc.array(
        fc.record(
          {
            name: numbered('s', 4),
            port: fc.record({
              number: fc.constantFrom(8080, 8080, 9090, 81),
              protocol: fc.constantFrom('http', 'http', 'https', 'https', 'grpc', 'mqtt'),
            }),
            tls: fc.record(
              {
                skipClientCertValidation: fc.boolean(),
                sniHosts: fc.subarray(['a.example', 'b.example', '*.example', 's0.a.svc.cluster.local', 'no host']),
              },
              { requiredKeys: ['skipClientCertValidation'] },
            ),
          },
          { requiredKeys: ['name', 'port'] },
        ),
        { maxLength: 3 },
      ),
      sources: fc.array(
        fc.oneof(
          fc.record({
            kind: fc.constant('IPRange'),
            name: fc.constantFrom('10.0.0.0/8', '10.9.0.0/16', '10.9.1.1/16', '192.0.2.1/32', 'fd00:0::/8', 'here'),
          }),
          fc.record(
            { kind: fc.constant('Service'), name: numbered('s', 4), namespace },
            { requiredKeys: ['kind', 'name'] },
          ),
          fc.record({
            kind: fc.constant('AuthenticatedPrincipal'),
            name: fc.constantFrom('gateway.example', 'Other.example', '*.example'),
          }),
        ),
        { maxLength: 3 },
      ),
      matches: fc.array(
        fc.record({
          apiGroup: fc.constant('specs.smi-spec.io/v1alpha4'),
          kind: fc.constantFrom('HTTPRouteGroup', 'HTTPRouteGroup', 'TCPRoute'),
          name: numbered('g', 3),
        }),
        { maxLength: 2 },
      ),
    }),
  )

const telemetry = ({ space, name }: Place): fc.Arbitrary<MeshObject> =>
  object(
    'Telemetry',
    name('l', 2),
    space,
    fc.record(
      {
        selector: fc.record({ app: fc.constantFrom(...apps) }),
        accessLog: fc.record(
          {
            format: fc.constantFrom('%DURATION%', '{ "x": "%PROTOCOL%" }', '%'),
            openTelemetry: fc.record({ extensionService: fc.record({ namespace, name: fc.constant('e0') }) }),
          },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    ),
  )

const extensionService = ({ space }: Place): fc.Arbitrary<MeshObject> =>
  object(
    'ExtensionService',
    fc.constant('e0'),
    space,
    fc.record({ host: fc.constantFrom('collector', '192.0.2.1'), port: fc.constant(4317) }),
  )

const namespaceObject = object(
  'Namespace',
  namespace,
  fc.constant(''),
  fc.constant({}),
  fc.constantFrom<Labels[]>({}, {}, { 'openservicemesh.io/ignore': 'true' }),
)

/** The settings of the mesh, some of which change every policy. */
export const configObject = object(
  'MeshConfig',
  fc.constant('osm-mesh-config'),
  fc.constant('osm-system'),
  fc.record({
    traffic: fc.record({
      enablePermissiveTrafficPolicyMode: fc.constantFrom(false, false, true),
      crossNamespace: fc.constantFrom({}, {}, { egress: true }, { egressGateway: true }),
    }),
    featureFlags: fc.record({
      enableIngressBackendPolicy: fc.constantFrom(true, true, false),
      enableAccessControlPolicy: fc.constantFrom(true, true, false),
    }),
    sidecar: fc.record({ localProxyMode: fc.constantFrom('Localhost', 'PodIP') }),
  }),
)

/** An object of a random mesh. */
export const anyObject: fc.Arbitrary<MeshObject> = fc.oneof(
  { weight: 6, arbitrary: service(anywhere) },
  { weight: 8, arbitrary: instance(anywhere) },
  { weight: 1, arbitrary: workload(anywhere) },
  { weight: 4, arbitrary: routeGroup(anywhere) },
  { weight: 3, arbitrary: tcpRoute(anywhere) },
  { weight: 8, arbitrary: trafficTarget(anywhere) },
  { weight: 4, arbitrary: trafficSplit(anywhere) },
  { weight: 2, arbitrary: retry(anywhere) },
  { weight: 3, arbitrary: upstreamSetting(anywhere) },
  { weight: 4, arbitrary: accessObject('IngressBackend', anywhere) },
  { weight: 3, arbitrary: accessObject('AccessControl', anywhere) },
  { weight: 4, arbitrary: egress(everywhere) },
  { weight: 3, arbitrary: egressGateway(everywhere) },
  { weight: 3, arbitrary: referenceGrant(anywhere) },
  { weight: 2, arbitrary: telemetry(anywhere) },
  { weight: 1, arbitrary: extensionService(anywhere) },
  { weight: 1, arbitrary: namespaceObject },
  { weight: 1, arbitrary: configObject },
)

/** Key of an object that may or may not exist. */
export const anyKey: fc.Arbitrary<ObjectKey> = anyObject.map(({ kind, metadata }) =>
  makeObjectKey(kind, metadata.namespace, metadata.name),
)

const alwaysThere = namespaces.flatMap((space) => [
  ...[0, 1].flatMap((index) => [routeGroup, tcpRoute].map((make) => make(at(space, index)))),
  ...[0, 1, 2].flatMap((index) => [service, instance, trafficTarget].map((make) => make(at(space, index)))),
  trafficSplit(at(space, 0)),
  accessObject('IngressBackend', at(space, 0)),
  accessObject('AccessControl', at(space, 0)),
])

/** A mesh in which something is going on. Later objects of one name replace earlier ones. */
export const anyMesh: fc.Arbitrary<readonly MeshObject[]> = fc
  .tuple(fc.tuple(...alwaysThere), fc.array(anyObject, { maxLength: 20 }))
  .map(([base, more]) => [...base, ...more])
