import fc from 'fast-check'

import { type Manifest, withoutDoubles } from './manifest.js'
import { attackers, CONTROL_PLANE, GATEWAY_NAME, placeIn, type Place, plugins, victims } from './names.js'
import * as policies from './random-policies.js'
import * as workloads from './random-workloads.js'
import { injectedPod, type Maker } from './random-workloads.js'

/** A mesh, and what somebody adds to it who owns one namespace. */
export interface Scenario {
  /** Namespace of the attacker. */
  readonly attacker: string
  /** Objects of all others, those of the cluster among them. They name no object of the attacker. */
  readonly mesh: readonly Manifest[]
  /** Objects in the namespace of the attacker. */
  readonly attack: readonly Manifest[]
}

/**
 * Makers of every kind that the owner of a namespace may write, with their share. Namespaces and Plugins are left out: they are of the cluster, and
 * so are instances, which are made of pods.
 */
export const makers: readonly { readonly kind: string; readonly weight: number; readonly make: Maker }[] = [
  { kind: 'Service', weight: 4, make: workloads.anyService },
  { kind: 'ServiceAccount', weight: 1, make: workloads.anyServiceAccount },
  { kind: 'Pod', weight: 4, make: workloads.anyPod },
  { kind: 'Workload', weight: 2, make: workloads.anyWorkload },
  { kind: 'HTTPRouteGroup', weight: 2, make: policies.anyRouteGroup },
  { kind: 'TCPRoute', weight: 1, make: policies.anyTcpRoute },
  { kind: 'TrafficTarget', weight: 4, make: policies.anyTrafficTarget },
  { kind: 'TrafficSplit', weight: 2, make: policies.anyTrafficSplit },
  { kind: 'HTTPRoute', weight: 2, make: policies.anyGatewayRoute('HTTPRoute') },
  { kind: 'GRPCRoute', weight: 2, make: policies.anyGatewayRoute('GRPCRoute') },
  { kind: 'GatewayTCPRoute', weight: 2, make: policies.anyGatewayRoute('TCPRoute') },
  { kind: 'TLSRoute', weight: 2, make: policies.anyGatewayRoute('TLSRoute') },
  { kind: 'Egress', weight: 4, make: policies.anyEgress },
  { kind: 'EgressGateway', weight: 3, make: policies.anyEgressGateway },
  { kind: 'UpstreamTrafficSetting', weight: 3, make: policies.anyUpstreamSetting },
  { kind: 'Retry', weight: 2, make: policies.anyRetry },
  { kind: 'IngressBackend', weight: 3, make: policies.anyIngressBackend },
  { kind: 'AccessControl', weight: 3, make: policies.anyAccessControl },
  { kind: 'AccessCert', weight: 3, make: policies.anyAccessCert },
  { kind: 'Telemetry', weight: 2, make: workloads.anyTelemetry },
  { kind: 'ExtensionService', weight: 1, make: workloads.anyExtensionService },
  { kind: 'PluginChain', weight: 3, make: policies.anyPluginChain },
  { kind: 'PluginConfig', weight: 3, make: policies.anyPluginConfig },
  { kind: 'ServiceExport', weight: 1, make: workloads.anyServiceExport },
  { kind: 'ServiceImport', weight: 2, make: workloads.anyServiceImport },
  { kind: 'GlobalTrafficPolicy', weight: 1, make: workloads.anyGlobalTrafficPolicy },
  { kind: 'MeshConfig', weight: 1, make: policies.anyMeshConfig },
  { kind: 'MeshRootCertificate', weight: 1, make: policies.anyMeshRootCertificate },
  { kind: 'ReferenceGrant', weight: 2, make: policies.anyReferenceGrant },
  { kind: 'GatewayReferenceGrant', weight: 2, make: policies.anyGatewayReferenceGrant },
  { kind: 'ExternalWorkload', weight: 2, make: workloads.anyExternalWorkload },
]

/** Kinds that the rest of a mesh gets by other means: see {@link anyScenario}. */
const madeOtherwise = new Set(['Pod', 'MeshConfig', 'MeshRootCertificate'])

/** Any object in a place. */
export function anyObject(place: Place, without: ReadonlySet<string> = new Set()): fc.Arbitrary<Manifest> {
  const found = makers.filter(({ kind }) => !without.has(kind))
  return fc.oneof(...found.map(({ weight, make }) => ({ weight, arbitrary: make(place) })))
}

/** Selectors of namespaces find them by this label. */
const namespaceObject = (name: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
})

const pluginObjects: readonly Manifest[] = plugins.map((name, priority) => ({
  apiVersion: 'plugin.flomesh.io/v1alpha1',
  kind: 'Plugin',
  metadata: { name },
  spec: { priority, pipyscript: 'pipy()' },
}))

const features = [
  'enableEgressPolicy',
  'enableIngressBackendPolicy',
  'enableAccessControlPolicy',
  'enableAccessCertPolicy',
  'enableRetryPolicy',
  'enablePluginPolicy',
  'enableMulticlusterMode',
]

/** The configuration of the mesh: with all features that policies may ask for. */
const config: fc.Arbitrary<Manifest> = fc
  .record({
    permissive: fc.constantFrom(false, false, true),
    egress: fc.boolean(),
    dns: fc.boolean(),
    plaintextNamespaces: fc.constantFrom([], [], ['*']),
  })
  .map(({ permissive, egress, dns, plaintextNamespaces }) => ({
    apiVersion: 'config.openservicemesh.io/v1alpha2',
    kind: 'MeshConfig',
    metadata: { name: 'osm-mesh-config', namespace: CONTROL_PLANE },
    spec: {
      traffic: { enablePermissiveTrafficPolicyMode: permissive, enableEgress: egress, plaintextNamespaces },
      sidecar: { localDNSProxy: { enable: dns } },
      certificate: {
        ingressGateway: {
          subjectAltNames: [GATEWAY_NAME],
          validityDuration: '24h',
          secret: { name: 'gateway', namespace: CONTROL_PLANE },
        },
      },
      featureFlags: Object.fromEntries(features.map((name) => [name, true])),
    },
  }))

/** What one of the others has: workloads and policies that always are there, and more by chance. */
function tenant(home: string, settled: readonly string[]): fc.Arbitrary<readonly Manifest[]> {
  const place = placeIn(home, settled)
  const always: readonly Maker[] = [
    workloads.anyService,
    workloads.anyService,
    policies.anyRouteGroup,
    policies.anyTcpRoute,
    policies.anyTrafficTarget,
    policies.anyEgress,
  ]
  return fc
    .tuple(
      fc.tuple(...['web', 'db', 'gw'].map((app) => injectedPod(place, app))),
      fc.tuple(...always.map((make) => make(place))),
      fc.array(anyObject(place, madeOtherwise), { maxLength: 6 }),
    )
    .map((lists) => lists.flat())
}

/** Any mesh, and anything that the owner of a namespace may add to it. */
export function scenarioOf(attacker: string): fc.Arbitrary<Scenario> {
  const others = victims.filter((name) => name !== attacker)
  const place = placeIn(attacker, [attacker, ...victims])
  return fc
    .record({
      attack: fc.array(anyObject(place), { minLength: 1, maxLength: 6 }),
      config,
      tenants: fc.tuple(...others.map((name) => tenant(name, others))),
    })
    .map(({ attack, tenants, config: settings }) => ({
      attacker,
      attack: withoutDoubles(attack),
      mesh: withoutDoubles([
        ...[...victims, ...attackers].map(namespaceObject),
        ...pluginObjects,
        settings,
        ...tenants.flat(),
      ]),
    }))
}

export const anyScenario: fc.Arbitrary<Scenario> = fc.constantFrom(...attackers).chain(scenarioOf)
