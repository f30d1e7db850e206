import { Type, type TSchema } from '@sinclair/typebox'

import type { ProxyCommonName } from '../identity.js'
import { listenAddressesSchema, tlsVersionSchema } from '../policy/schema/own.js'
import { partSchema, policyUpdateSchema } from '../policy/schema.js'
import { branded, closed, dictionary, list, oneOf } from './builders.js'
import {
  countSchema,
  credentialRefSchema,
  durationSchema,
  httpHeadersSchema,
  jsonValueSchema,
  localitySchema,
  nameSchema,
  portSchema,
  positiveCountSchema,
  positiveDurationSchema,
  principalSchema,
  proxyUuidSchema,
  serviceIdentitySchema,
  statusSchema,
} from './common.js'
import { applyReportSchema, capabilitiesSchema, healthProbesSchema, proxyObservationSchema } from './driver.js'
import { resourcesSchema, sidecarPatchSchema } from './sidecar-patch.js'

/** Schema of {@link MeshConfigView}. */
export const meshConfigViewSchema = closed({
  meshName: nameSchema,
  trustDomain: nameSchema,
  clusterDomain: nameSchema,
  sidecar: closed({
    logLevel: oneOf('trace', 'debug', 'info', 'warning', 'error', 'critical', 'off'),
    maxDataPlaneConnections: countSchema,
    configResyncIntervalMs: durationSchema,
    tlsMinProtocolVersion: tlsVersionSchema,
    tlsMaxProtocolVersion: tlsVersionSchema,
    cipherSuites: list(Type.String()),
    ecdhCurves: list(Type.String()),
    localProxyMode: oneOf('Localhost', 'PodIP'),
    localDNSProxy: Type.Boolean(),
  }),
  policyWithdrawalTimeoutMs: durationSchema,
  observability: closed({ osmLogLevel: Type.String(), enableDebugServer: Type.Boolean() }),
  featureFlags: dictionary(Type.Boolean()),
})

/** Schema of {@link InjectorContext} without its signal. */
export const injectorContextSchema = closed({
  contract: positiveCountSchema,
  meshName: nameSchema,
  osmNamespace: nameSchema,
  podNamespace: nameSchema,
  pod: dictionary(jsonValueSchema),
  podOS: oneOf('linux', 'windows', 'darwin'),
  proxyUUID: proxyUuidSchema,
  proxyCommonName: branded<ProxyCommonName>('^[^\\s]+\\.sidecar\\.[^\\s]+$'),
  bootstrapCertificate: closed({ chain: Type.String(), expiry: Type.String(), serialNumber: Type.String() }),
  configurator: meshConfigViewSchema,
  driverConfig: jsonValueSchema,
  sidecarImage: Type.String(),
  pullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
  resources: resourcesSchema,
  logLevel: Type.String(),
  inboundPortExclusionList: list(portSchema),
  outboundPortExclusionList: list(portSchema),
  outboundIPRangeInclusionList: list(Type.String()),
  outboundIPRangeExclusionList: list(Type.String()),
  networkInterfaceExclusionList: list(Type.String()),
  interceptionMode: oneOf('iptables', 'ebpf', 'none'),
  listen: listenAddressesSchema,
  locality: localitySchema,
  nativeSidecar: Type.Boolean(),
  originalHealthProbes: list(
    closed({
      container: nameSchema,
      kind: oneOf('liveness', 'readiness', 'startup'),
      type: oneOf('http', 'https', 'tcp', 'grpc'),
      port: portSchema,
      path: Type.Optional(Type.String()),
      headers: Type.Optional(httpHeadersSchema),
      service: Type.Optional(Type.String()),
      timeoutMs: positiveDurationSchema,
    }),
  ),
  controlPlane: closed({ address: nameSchema, port: portSchema, serverName: nameSchema }),
  trustBundle: list(Type.String()),
  workloadApi: Type.Optional(closed({ socketPath: Type.String({ pattern: '^/' }) })),
  dryRun: Type.Boolean(),
})

/** Schema of the members of {@link ControllerContext} that are sent when a driver is started. */
export const startContextSchema = closed({
  contract: positiveCountSchema,
  proxyServerAddress: nameSchema,
  proxyServerPort: Type.Integer({ minimum: 0, maximum: 65_535 }),
  osmNamespace: nameSchema,
  driverConfig: jsonValueSchema,
})

/** Schema of {@link ProxyRef}. */
export const proxyRefSchema = closed({
  uuid: proxyUuidSchema,
  identity: serviceIdentitySchema,
  principal: principalSchema,
  namespace: nameSchema,
  class: nameSchema,
  commonName: nameSchema,
  session: nameSchema,
})

/** Schema of {@link Eviction}. */
export const evictionSchema = closed({
  uuid: proxyUuidSchema,
  session: nameSchema,
  reason: oneOf('released', 'workload-deleted', 'superseded', 'connection-cap', 'rebalance', 'shutdown'),
})

/** Schema of {@link Credential}. */
export const credentialSchema = closed({
  chain: Type.String(),
  privateKey: Type.String(),
  key: Type.Optional(Type.Literal('proxy')),
  expiry: Type.String(),
  serialNumber: Type.String(),
  roots: Type.Optional(list(Type.String())),
  headerValue: Type.Optional(Type.String()),
})

/** Schema of {@link TrustBundle}. */
export const trustBundleSchema = closed({ id: Type.String(), certificates: list(Type.String()) })

/** Schema of {@link Message}. */
export const messageSchema = closed({ topic: nameSchema, payload: jsonValueSchema })

/** Schema of {@link DebugRequest}. */
export const debugRequestSchema = closed({ path: Type.String(), query: dictionary(Type.String()) })

/** Schema of {@link DebugResponse}. */
export const debugResponseSchema = closed({ status: statusSchema, contentType: Type.String(), body: Type.String() })

/** Schema of {@link ErrorDetails}. */
export const errorDetailsSchema = dictionary(
  Type.Union([Type.String(), Type.Number(), Type.Boolean(), list(Type.String())]),
)

const metricDeclarations = list(
  closed({
    kind: oneOf('counter', 'gauge', 'histogram'),
    name: Type.String(),
    help: Type.String(),
    labels: list(Type.String()),
    buckets: list(Type.Number()),
  }),
)

const measurements = list(closed({ name: Type.String(), labels: dictionary(Type.String()), value: Type.Number() }))

const logEntries = list(
  closed({
    level: oneOf('debug', 'info', 'warn', 'error'),
    fields: dictionary(Type.Unknown()),
    message: Type.String(),
  }),
)

/** Values of the contract between processes by their names: those that a host makes, and those that a driver makes. `driver.proto` has the same members, or their JSON. */
export const wireSchemas: Readonly<Record<'host' | 'driver', Readonly<Record<string, TSchema>>>> = {
  host: {
    InjectorContext: injectorContextSchema,
    StartContext: startContextSchema,
    MeshConfigView: meshConfigViewSchema,
    ProxyRef: proxyRefSchema,
    PolicyUpdate: policyUpdateSchema,
    Part: partSchema,
    Credential: credentialSchema,
    ServerTrust: closed({ credential: credentialSchema, clientRoots: trustBundleSchema }),
    TrustBundle: trustBundleSchema,
    Eviction: evictionSchema,
    Message: messageSchema,
    DebugRequest: debugRequestSchema,
    ErrorDetails: errorDetailsSchema,
  },
  driver: {
    Capabilities: capabilitiesSchema,
    SidecarPatch: sidecarPatchSchema,
    HealthProbes: healthProbesSchema,
    ApplyReport: applyReportSchema,
    ProxyObservation: proxyObservationSchema,
    CredentialRef: credentialRefSchema,
    DebugResponse: debugResponseSchema,
    MetricDeclarations: metricDeclarations,
    Measurements: measurements,
    LogEntries: logEntries,
  },
}
