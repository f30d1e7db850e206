import type { TSchema } from '@sinclair/typebox'

import type { Spec } from './common.js'
import { NamespaceSpecSchema, ServiceAccountSpecSchema, ServiceSpecSchema } from './core-v1.js'
import { ExternalWorkloadSpecSchema } from './external-workload.js'
import { MeshConfigSpecSchema } from './mesh-config.js'
import { GRPCRouteSpecSchema, HTTPRouteSpecSchema } from './gateway.js'
import { GatewayTCPRouteSpecSchema, TLSRouteSpecSchema } from './gateway-connections.js'
import { MeshRootCertificateSpecSchema } from './mesh-root-certificate.js'
import { GlobalTrafficPolicySpecSchema, ServiceExportSpecSchema, ServiceImportSpecSchema } from './multicluster.js'
import { PluginChainSpecSchema, PluginConfigSpecSchema, PluginSpecSchema } from './plugin.js'
import {
  AccessCertSpecSchema,
  AccessControlSpecSchema,
  EgressGatewaySpecSchema,
  EgressSpecSchema,
  IngressBackendSpecSchema,
  RetrySpecSchema,
} from './policy.js'
import { ReferenceGrantSpecSchema } from './reference-grant.js'
import { HTTPRouteGroupSpecSchema, TCPRouteSpecSchema, TrafficSplitSpecSchema, TrafficTargetSpecSchema } from './smi.js'
import { ExtensionServiceSpecSchema, TelemetrySpecSchema } from './telemetry.js'
import { UpstreamTrafficSettingSpecSchema } from './upstream-traffic-setting.js'
import { WorkloadInstanceSpecSchema, WorkloadSpecSchema } from './workload.js'

/** What is known of a kind. */
export interface KindDefinition<S extends TSchema = TSchema> {
  /** API version that objects have after they were read. */
  readonly apiVersion: string
  /** Older or other versions that are read and converted. */
  readonly alsoAccepted: readonly string[]
  readonly plural: string
  /**
   * None equals the singular, which kubectl knows anyway: the API server takes it for taken where a definition without it
   * is replaced.
   */
  readonly shortNames: readonly string[]
  readonly scope: 'Namespaced' | 'Cluster'
  /** `user`: written by people; `runtime`: written by the supervisor of local processes. */
  readonly writtenBy: 'user' | 'runtime'
  /** True for kinds of Kubernetes itself, of which the schema is a part: unknown fields are not reported. */
  readonly partial: boolean
  /** True for kinds whose definitions clusters get from elsewhere, or not at all. The mesh installs none, and does without. */
  readonly foreign: boolean
  /** The kind as objects say it, where two API groups have one of the same name; that of the table if absent. */
  readonly writtenAs?: string
  readonly spec: S
}

interface KindOptions {
  readonly also?: readonly string[]
  readonly short?: readonly string[]
  readonly scope?: 'Cluster'
  readonly writtenBy?: 'runtime'
  readonly foreign?: true
  readonly writtenAs?: string
}

function define<S extends TSchema>(
  apiVersion: string,
  plural: string,
  spec: S,
  options: KindOptions = {},
): KindDefinition<S> {
  const group = apiVersion.slice(0, apiVersion.indexOf('/') + 1)
  return {
    apiVersion,
    alsoAccepted: (options.also ?? []).map((version) => `${group}${version}`),
    plural,
    shortNames: options.short ?? [],
    scope: options.scope ?? 'Namespaced',
    writtenBy: options.writtenBy ?? 'user',
    partial: apiVersion === 'v1',
    foreign: options.foreign ?? false,
    ...(options.writtenAs === undefined ? {} : { writtenAs: options.writtenAs }),
    spec,
  }
}

const config = 'config.openservicemesh.io'
const policy = 'policy.openservicemesh.io/v1alpha1'
const plugin = 'plugin.flomesh.io/v1alpha1'
const flomesh = 'flomesh.io/v1alpha1'
const standalone = 'standalone.openservicemesh.io/v1alpha1'

/** Every kind that the mesh reads. The one table that types, checks and CRDs are made from. */
export const kindDefinitions = {
  Namespace: define('v1', 'namespaces', NamespaceSpecSchema, { short: ['ns'], scope: 'Cluster' }),
  Service: define('v1', 'services', ServiceSpecSchema, { short: ['svc'] }),
  ServiceAccount: define('v1', 'serviceaccounts', ServiceAccountSpecSchema, { short: ['sa'] }),
  TrafficTarget: define('access.smi-spec.io/v1alpha3', 'traffictargets', TrafficTargetSpecSchema, {
    also: ['v1alpha2', 'v1alpha1'],
    short: ['tt'],
  }),
  HTTPRouteGroup: define('specs.smi-spec.io/v1alpha4', 'httproutegroups', HTTPRouteGroupSpecSchema, {
    also: ['v1alpha3', 'v1alpha2', 'v1alpha1'],
    short: ['htr'],
  }),
  TCPRoute: define('specs.smi-spec.io/v1alpha4', 'tcproutes', TCPRouteSpecSchema, {
    also: ['v1alpha3', 'v1alpha2', 'v1alpha1'],
    short: ['tr'],
  }),
  TrafficSplit: define('split.smi-spec.io/v1alpha4', 'trafficsplits', TrafficSplitSpecSchema, {
    also: ['v1alpha3', 'v1alpha2', 'v1alpha1'],
    short: ['ts'],
  }),
  HTTPRoute: define('gateway.networking.k8s.io/v1', 'httproutes', HTTPRouteSpecSchema, {
    also: ['v1beta1'],
    foreign: true,
  }),
  GRPCRoute: define('gateway.networking.k8s.io/v1', 'grpcroutes', GRPCRouteSpecSchema, { foreign: true }),
  GatewayTCPRoute: define('gateway.networking.k8s.io/v1', 'tcproutes', GatewayTCPRouteSpecSchema, {
    also: ['v1alpha2'],
    foreign: true,
    writtenAs: 'TCPRoute',
  }),
  TLSRoute: define('gateway.networking.k8s.io/v1', 'tlsroutes', TLSRouteSpecSchema, {
    also: ['v1alpha3', 'v1alpha2'],
    foreign: true,
  }),
  GatewayReferenceGrant: define('gateway.networking.k8s.io/v1', 'referencegrants', ReferenceGrantSpecSchema, {
    also: ['v1beta1'],
    foreign: true,
    writtenAs: 'ReferenceGrant',
  }),
  MeshConfig: define(`${config}/v1alpha2`, 'meshconfigs', MeshConfigSpecSchema, {
    also: ['v1alpha1'],
  }),
  MeshRootCertificate: define(`${config}/v1alpha2`, 'meshrootcertificates', MeshRootCertificateSpecSchema, {
    short: ['mrc'],
  }),
  Egress: define(policy, 'egresses', EgressSpecSchema),
  IngressBackend: define(policy, 'ingressbackends', IngressBackendSpecSchema),
  Retry: define(policy, 'retries', RetrySpecSchema),
  UpstreamTrafficSetting: define(policy, 'upstreamtrafficsettings', UpstreamTrafficSettingSpecSchema),
  EgressGateway: define(policy, 'egressgateways', EgressGatewaySpecSchema),
  AccessControl: define(policy, 'accesscontrols', AccessControlSpecSchema),
  AccessCert: define(policy, 'accesscerts', AccessCertSpecSchema, { short: ['acct'] }),
  ReferenceGrant: define(policy, 'referencegrants', ReferenceGrantSpecSchema),
  Telemetry: define(policy, 'telemetries', TelemetrySpecSchema),
  ExternalWorkload: define(policy, 'externalworkloads', ExternalWorkloadSpecSchema, { short: ['ew'] }),
  ExtensionService: define(`${config}/v1alpha2`, 'extensionservices', ExtensionServiceSpecSchema, {
    short: ['extsvc'],
  }),
  Plugin: define(plugin, 'plugins', PluginSpecSchema, { short: ['pi'], scope: 'Cluster' }),
  PluginChain: define(plugin, 'pluginchains', PluginChainSpecSchema, { short: ['pichn'] }),
  PluginConfig: define(plugin, 'pluginconfigs', PluginConfigSpecSchema, { short: ['picfg'] }),
  ServiceExport: define(flomesh, 'serviceexports', ServiceExportSpecSchema),
  ServiceImport: define(flomesh, 'serviceimports', ServiceImportSpecSchema),
  GlobalTrafficPolicy: define(flomesh, 'globaltrafficpolicies', GlobalTrafficPolicySpecSchema),
  Workload: define(standalone, 'workloads', WorkloadSpecSchema),
  WorkloadInstance: define(standalone, 'workloadinstances', WorkloadInstanceSpecSchema, { writtenBy: 'runtime' }),
} as const

/** Name of a kind that the mesh reads. */
export type Kind = keyof typeof kindDefinitions

/** Type of `spec` by kind. */
export type KindSpecs = { readonly [K in Kind]: Spec<(typeof kindDefinitions)[K]['spec']> }

/** True if the text is a kind that the mesh reads. */
export function isKind(text: string): text is Kind {
  return Object.hasOwn(kindDefinitions, text)
}

/** The kind as objects say it. */
export function writtenKind(kind: Kind): string {
  const { writtenAs = kind }: KindDefinition = kindDefinitions[kind]
  return writtenAs
}

/** The kind that an object says it is of; undefined if the mesh reads no such kind. Of two with one name, the API group decides. */
export function kindWrittenAs(written: string, apiVersion: unknown): Kind | undefined {
  const kinds = (Object.keys(kindDefinitions) as Kind[]).filter((kind) => writtenKind(kind) === written)
  if (kinds.length < 2) return kinds[0]
  return kinds.find((kind) => isInGroupOf(kind, apiVersion)) ?? kinds[0]
}

/** True if an object with this apiVersion, which may be any value, is in the API group of the kind. Kinds without a group are in that of no object. */
export function isInGroupOf(kind: Kind, apiVersion: unknown): boolean {
  const group = typeof apiVersion === 'string' ? apiVersion.replace(/[^/]*$/, '') : ''
  return group !== '' && kindDefinitions[kind].apiVersion.startsWith(group)
}

/** Names of all kinds, sorted. */
export function allKinds(): readonly Kind[] {
  return (Object.keys(kindDefinitions) as Kind[]).sort()
}
