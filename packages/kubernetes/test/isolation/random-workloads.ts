import fc from 'fast-check'

import { bootstrapSecretName } from '../../src/sidecar-volume.js'
import type { Manifest } from './manifest.js'
import {
  accountOf,
  hostOf,
  namespaceIn,
  podAddress,
  type Place,
  serviceOf,
  services,
  uuidOf,
  victims,
  virtualAddress,
  writtenAddress,
} from './names.js'

/** Makes a manifest of one kind in a place. */
export type Maker = (place: Place) => fc.Arbitrary<Manifest>

/** A manifest with the given name and spec. */
export function manifest(
  apiVersion: string,
  kind: string,
  { home }: Place,
  parts: {
    readonly name: fc.Arbitrary<string>
    readonly spec: fc.Arbitrary<unknown>
    readonly labels?: fc.Arbitrary<Readonly<Record<string, string>>>
    readonly annotations?: fc.Arbitrary<Readonly<Record<string, string>>>
  },
): fc.Arbitrary<Manifest> {
  const { name, spec, labels = fc.constant({}), annotations = fc.constant({}) } = parts
  return fc.record({ name, spec, labels, annotations }).map((made) => ({
    apiVersion,
    kind,
    metadata: {
      name: made.name,
      namespace: home,
      ...(Object.keys(made.labels).length === 0 ? {} : { labels: made.labels }),
      ...(Object.keys(made.annotations).length === 0 ? {} : { annotations: made.annotations }),
    },
    spec: made.spec,
  }))
}

const labelsIn = (place: Place) =>
  fc.record({ app: serviceOf(place), version: fc.constantFrom('v1', 'v2') }, { requiredKeys: ['app'] })

const servicePort = fc.record(
  {
    name: fc.constantFrom('http', 'main', 'tcp-x', 'tcp-server-first-y'),
    port: fc.constantFrom(80, 80, 443, 8443, 9090),
    targetPort: fc.constantFrom(8080, 9090, 'main'),
    appProtocol: fc.constantFrom('http', 'grpc', 'tcp', 'tcp-server-first', 'https'),
  },
  { requiredKeys: ['name', 'port'] },
)

/** Ports of one Service. */
const servicePorts = fc.uniqueArray(servicePort, {
  minLength: 1,
  maxLength: 2,
  selector: ({ port }) => port,
})

export const anyService: Maker = (place) => writtenService(place).map(withAddress)

/** Virtual addresses are given out by the cluster, no matter who writes the rest. */
function withAddress(service: Manifest): Manifest {
  const { namespace = '', name } = service.metadata
  const spec = service.spec as { readonly clusterIP?: string }
  if (spec.clusterIP !== 'given out') return service
  return { ...service, spec: { ...spec, clusterIP: virtualAddress(namespace, name) } }
}

const writtenService: Maker = (place) =>
  manifest('v1', 'Service', place, {
    name: serviceOf(place),
    spec: fc.record(
      {
        selector: fc.oneof(
          { weight: 4, arbitrary: serviceOf(place).map((app) => ({ app })) },
          { weight: 1, arbitrary: labelsIn(place) },
        ),
        ports: servicePorts,
        clusterIP: fc.constantFrom('given out', 'given out', 'None'),
        externalIPs: fc.array(writtenAddress, { maxLength: 2 }),
        type: fc.constantFrom('ClusterIP', 'LoadBalancer'),
      },
      { requiredKeys: ['selector', 'ports'] },
    ),
    annotations: fc.constantFrom(
      {},
      { 'openservicemesh.io/egress-gateway-mode': 'http2tunnel' },
      { 'openservicemesh.io/egress-gateway-mode': 'socks5' },
    ),
  })

/** UUIDs that a label may claim: those of everybody, and what is none. */
const claimedUuid = (place: Place): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 3, arbitrary: serviceOf(place).map((app) => uuidOf(place.home, app)) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom(...victims), serviceOf(place))
        .map(([namespace, app]) => uuidOf(namespace, app)),
    },
    { weight: 1, arbitrary: fc.constant('none') },
  )

const probeBinding = fc.record({
  container: fc.constant('app'),
  probe: fc.constantFrom('liveness', 'readiness'),
  port: fc.constantFrom(15_901, 15_902),
  path: fc.constantFrom('/osm-liveness', ''),
  target: fc.record({ type: fc.constantFrom('http', 'tcp'), port: fc.constantFrom(8080, 15_000) }),
  timeoutMs: fc.constant(1000),
})

interface PodParts {
  readonly app: string
  readonly uuid: string
  readonly serviceAccountName: string
  readonly hostname: string | undefined
  readonly ready: boolean
  readonly bindings: readonly unknown[] | undefined
  readonly class: string
  /** UUID of the sidecar whose Secret the pod mounts: its own, unless somebody pretends. */
  readonly mounted: string
}

function pod({ home }: Place, parts: PodParts): Manifest {
  const { app, uuid, serviceAccountName, hostname, ready, bindings } = parts
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${app}-0`,
      namespace: home,
      labels: { app, 'osm-proxy-uuid': uuid },
      annotations: {
        'openservicemesh.io/sidecar-class': parts.class,
        ...(bindings === undefined ? {} : { 'openservicemesh.io/probe-bindings': JSON.stringify(bindings) }),
      },
    },
    spec: {
      serviceAccountName,
      ...(hostname === undefined ? {} : { hostname, subdomain: 'web' }),
      volumes: [{ name: 'bootstrap', secret: { secretName: bootstrapSecretName(parts.mounted) } }],
      containers: [
        {
          name: 'app',
          ports: [
            { name: 'main', containerPort: 8080 },
            { name: 'alt', containerPort: 9090 },
          ],
        },
      ],
    },
    status: {
      phase: 'Running',
      podIPs: [{ ip: podAddress(home, app) }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  }
}

/** A pod as an injector makes it, which no one has touched since. */
export function injectedPod(place: Place, app: string): fc.Arbitrary<Manifest> {
  return fc.constant(
    pod(place, {
      app,
      uuid: uuidOf(place.home, app),
      mounted: uuidOf(place.home, app),
      serviceAccountName: app,
      hostname: undefined,
      ready: true,
      bindings: undefined,
      class: 'envoy',
    }),
  )
}

/** A pod as its owner may write it: labels and annotations are his. What the kubelet writes, its address, is not. */
export const anyPod: Maker = (place) =>
  fc
    .record({
      app: serviceOf(place),
      uuid: claimedUuid(place),
      serviceAccountName: accountOf(place),
      hostname: fc.option(fc.constantFrom(...services), { nil: undefined, freq: 2 }),
      ready: fc.constantFrom(true, true, false),
      bindings: fc.option(fc.array(probeBinding, { maxLength: 2 }), { nil: undefined }),
      class: fc.constantFrom('envoy', 'envoy', 'pipy'),
    })
    .chain((parts) => {
      const mounted = fc.oneof({ weight: 3, arbitrary: fc.constant(parts.uuid) }, claimedUuid(place))
      return mounted.map((uuid) => pod(place, { ...parts, mounted: uuid }))
    })

export const anyServiceAccount: Maker = (place) =>
  manifest('v1', 'ServiceAccount', place, { name: accountOf(place), spec: fc.constant({}) })

/** A workload without a sidecar somewhere, by an address that its owner writes down: perhaps that of somebody else. */
export const anyWorkload: Maker = (place) =>
  manifest('standalone.openservicemesh.io/v1alpha1', 'Workload', place, {
    name: fc.constantFrom('m0', 'm1'),
    labels: labelsIn(place),
    spec: fc.record({
      serviceAccountName: accountOf(place),
      ports: fc.constant([{ name: 'main', port: 8080 }]),
      sidecar: fc.boolean(),
      address: writtenAddress,
    }),
  })

export const anyServiceImport: Maker = (place) =>
  manifest('flomesh.io/v1alpha1', 'ServiceImport', place, {
    name: serviceOf(place),
    spec: fc.record(
      {
        ports: servicePorts.map((ports) =>
          ports.map(({ name, port, appProtocol = 'http' }) => ({
            name,
            port,
            appProtocol,
            endpoints: [
              {
                clusterKey: 'a/b/c/other',
                target: { host: 'gateway.example', ip: '192.0.2.7', port: 80, path: '/' },
              },
            ],
          })),
        ),
        ips: writtenAddress.map((address) => [address]),
        serviceAccountName: fc.constantFrom('*', 'web', 'db'),
      },
      { requiredKeys: ['ports'] },
    ),
  })

export const anyServiceExport: Maker = (place) =>
  manifest('flomesh.io/v1alpha1', 'ServiceExport', place, {
    name: serviceOf(place),
    spec: fc.record({ serviceAccountName: accountOf(place) }, { requiredKeys: [] }),
  })

export const anyGlobalTrafficPolicy: Maker = (place) =>
  manifest('flomesh.io/v1alpha1', 'GlobalTrafficPolicy', place, {
    name: serviceOf(place),
    spec: fc.record({ lbType: fc.constantFrom('Locality', 'ActiveActive', 'FailOver') }),
  })

export const anyExtensionService: Maker = (place) =>
  manifest('config.openservicemesh.io/v1alpha2', 'ExtensionService', place, {
    name: fc.constant('collector'),
    spec: fc.record({ host: fc.oneof(fc.constant('collector.example'), hostOf(place)), port: fc.constant(4317) }),
  })

export const anyTelemetry: Maker = (place) =>
  manifest('policy.openservicemesh.io/v1alpha1', 'Telemetry', place, {
    name: fc.constantFrom('l0', 'l1'),
    spec: fc.record(
      {
        selector: serviceOf(place).map((app) => ({ app })),
        accessLog: fc.record(
          {
            format: fc.constantFrom('%DURATION%', '{ "x": "%PROTOCOL%" }'),
            openTelemetry: fc.record({
              extensionService: fc.record({ namespace: namespaceIn(place), name: fc.constant('collector') }),
            }),
          },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    ),
  })

export const anyExternalWorkload: Maker = (place) =>
  manifest('policy.openservicemesh.io/v1alpha1', 'ExternalWorkload', place, {
    name: fc.constantFrom('m0', 'm1'),
    labels: serviceOf(place).map((app) => ({ app })),
    spec: fc.record(
      {
        addresses: fc.array(writtenAddress, { minLength: 1, maxLength: 2 }),
        service: serviceOf(place),
        serviceAccount: accountOf(place),
      },
      { requiredKeys: ['addresses'] },
    ),
  })
