import { always, dictionary, list, maybe, messageType, one, scalar, words } from './message.js'

// The messages of proto/osm/driver/v1/driver.proto; a test compares them. Members and words are those of the contract.

const { bool, bytes, double, string, uint32, uint64 } = scalar

export const enums = {
  protocol: words('Protocol', 'http', 'http2', 'grpc', 'https', 'tcp', 'tcp-server-first'),
  matchType: words('MatchType', 'exact', 'prefix', 'regex', 'present', 'segments'),
  upstreamIdentity: words('UpstreamIdentity', 'principal', 'serviceName'),
  proxyMode: words('ProxyMode', 'explicit', 'transparent'),
  ipFamily: words('IpFamily', 'IPv4', 'IPv6'),
  operatingSystem: words('OperatingSystem', 'linux', 'windows', 'darwin'),
  applyState: words('ApplyState', 'applied', 'rejected', 'unknown'),
  localProxyMode: words('LocalProxyMode', 'Localhost', 'PodIP'),
  metricKind: words('MetricKind', 'counter', 'gauge', 'histogram'),
  logLevel: words('LogLevel', 'debug', 'info', 'warn', 'error'),
  credentialKind: words('CredentialKind', 'service', 'egress', 'secret'),
  keyHolder: words('KeyHolder', 'proxy'),
  evictionReason: words(
    'EvictionReason',
    'released',
    'workload-deleted',
    'superseded',
    'connection-cap',
    'rebalance',
    'shutdown',
  ),
}

const empty = messageType('Empty', {})
const contractRange = messageType('ContractRange', { min: one(1, uint32), max: one(2, uint32) })
const describeRequest = messageType('DescribeRequest', { contract: maybe(1, contractRange.codec) })
const capabilities = messageType('Capabilities', {
  protocols: list(1, enums.protocol),
  pathMatches: list(2, enums.matchType),
  headerMatches: list(3, enums.matchType),
  upstreamIdentity: one(4, enums.upstreamIdentity),
  modes: list(5, enums.proxyMode),
  standalone: one(6, bool),
  ipFamilies: list(7, enums.ipFamily),
  operatingSystems: list(8, enums.operatingSystem),
  drain: one(9, bool),
  features: list(10, string),
})
const declaration = messageType('Declaration', {
  name: one(1, string),
  configSchema: one(4, string),
  version: one(5, string),
  oldestProxyVersion: one(6, string),
  contract: maybe(8, contractRange.codec),
  capabilities: maybe(9, capabilities.codec),
})
const patchRequest = messageType('PatchRequest', { context: one(1, string) })
const patchResponse = messageType('PatchResponse', { patch: one(1, string) })
const startContext = messageType('StartContext', {
  contract: one(1, uint32),
  proxyServerAddress: one(2, string),
  proxyServerPort: one(3, uint32),
  osmNamespace: one(4, string),
  driverConfig: one(5, string),
})
const startRequest = messageType('StartRequest', { hostSocket: one(2, string), context: always(3, startContext.codec) })
const healthProbe = messageType('HealthProbe', {
  path: one(1, string),
  port: one(2, uint32),
  http: one(3, bool),
  timeoutMs: one(4, double),
  tcpSocket: one(5, bool),
})
const healthProbes = messageType('HealthProbes', {
  liveness: maybe(1, healthProbe.codec),
  readiness: maybe(2, healthProbe.codec),
  startup: maybe(3, healthProbe.codec),
})
const startEvent = messageType('StartEvent', { cancelled: one(2, string), probes: maybe(3, healthProbes.codec) })
const debugRequest = messageType('DebugRequest', { path: one(1, string), query: dictionary(2, string) })
const debugResponse = messageType('DebugResponse', {
  status: one(1, uint32),
  contentType: one(2, string),
  body: one(3, string),
})
const authenticateRequest = messageType('AuthenticateRequest', { certificate: one(1, bytes) })
const proxyRef = messageType('ProxyRef', {
  uuid: one(1, string),
  identity: one(2, string),
  principal: one(3, string),
  namespace: one(4, string),
  class: one(5, string),
  commonName: one(6, string),
  session: one(7, string),
})
const sessionRequest = messageType('SessionRequest', { session: one(1, string) })
const partReport = messageType('PartReport', {
  hash: one(1, string),
  id: one(2, string),
  state: one(3, enums.applyState),
  message: maybe(4, string),
  element: maybe(5, string),
})
const applyWork = messageType('ApplyWork', {
  queueMs: one(1, double),
  translateMs: one(2, double),
  encodeMs: one(3, double),
  sendMs: one(4, double),
  bytes: one(5, uint64),
})
const applyReport = messageType('ApplyReport', {
  session: one(1, string),
  revision: one(2, uint64),
  complete: one(3, bool),
  endpoints: maybe(4, uint64),
  parts: list(5, partReport.codec),
  work: maybe(6, applyWork.codec),
})
const proxyCondition = messageType('ProxyCondition', { code: one(1, string), message: one(2, string) })
const refusedPeer = messageType('RefusedPeer', {
  code: one(1, string),
  message: one(2, string),
  address: one(3, string),
  commonName: maybe(4, string),
})
const proxyObservation = messageType('ProxyObservation', {
  session: one(1, string),
  conditions: list(2, proxyCondition.codec),
  refused: maybe(3, refusedPeer.codec),
})
const partRequest = messageType('PartRequest', { hash: one(1, string) })
const partResponse = messageType('PartResponse', { part: one(1, string) })
const partRef = messageType('PartRef', { kind: one(1, string), id: one(2, string), hash: one(3, string) })
const policyUpdate = messageType('PolicyUpdate', {
  revision: one(1, uint64),
  version: one(2, string),
  proxy: one(3, string),
  added: list(4, partRef.codec),
  removed: list(5, partRef.codec),
})
const sidecarSettings = messageType('SidecarSettings', {
  logLevel: one(1, string),
  maxDataPlaneConnections: one(2, uint64),
  configResyncIntervalMs: one(3, double),
  tlsMinProtocolVersion: one(4, string),
  tlsMaxProtocolVersion: one(5, string),
  cipherSuites: list(6, string),
  ecdhCurves: list(7, string),
  localProxyMode: one(8, enums.localProxyMode),
  localDNSProxy: one(9, bool),
})
const observability = messageType('Observability', { osmLogLevel: one(1, string), enableDebugServer: one(2, bool) })
const meshConfig = messageType('MeshConfig', {
  meshName: one(1, string),
  trustDomain: one(2, string),
  clusterDomain: one(3, string),
  sidecar: always(4, sidecarSettings.codec),
  policyWithdrawalTimeoutMs: one(5, double),
  observability: always(6, observability.codec),
  featureFlags: dictionary(7, bool),
})
const pageRequest = messageType('PageRequest', { path: one(1, string) })
const metricDeclaration = messageType('MetricDeclaration', {
  kind: one(1, enums.metricKind),
  name: one(2, string),
  help: one(3, string),
  labels: list(4, string),
  buckets: list(5, double),
})
const metricDeclarations = messageType('MetricDeclarations', { metrics: list(1, metricDeclaration.codec) })
const measurement = messageType('Measurement', {
  name: one(1, string),
  labels: dictionary(2, string),
  value: one(3, double),
})
const measurements = messageType('Measurements', { measurements: list(1, measurement.codec) })
const logEntry = messageType('LogEntry', {
  level: one(1, enums.logLevel),
  fields: one(2, string),
  message: one(3, string),
})
const logEntries = messageType('LogEntries', { entries: list(1, logEntry.codec) })
const credentialRef = messageType('CredentialRef', {
  kind: one(1, enums.credentialKind),
  namespace: maybe(2, string),
  name: maybe(3, string),
})
const watchRequest = messageType('WatchRequest', {
  session: one(1, string),
  topic: one(3, string),
  credential: maybe(4, credentialRef.codec),
  key: maybe(5, enums.keyHolder),
})
const roots = messageType('Roots', { certificates: list(1, string) })
const credential = messageType('Credential', {
  chain: one(1, string),
  privateKey: one(2, string),
  expiry: one(3, string),
  serialNumber: one(4, string),
  roots: maybe(5, roots.codec),
  headerValue: maybe(6, string),
  key: maybe(7, enums.keyHolder),
})
const trustBundle = messageType('TrustBundle', { id: one(1, string), certificates: list(2, string) })
const serverTrust = messageType('ServerTrust', {
  credential: always(1, credential.codec),
  clientRoots: always(2, trustBundle.codec),
})
const eviction = messageType('Eviction', {
  uuid: one(1, string),
  session: one(2, string),
  reason: one(3, enums.evictionReason),
})
const brokerMessage = messageType('BrokerMessage', { topic: one(1, string), payload: one(2, string) })
const failure = messageType('Failure', { code: one(1, string), message: one(2, string), details: one(3, string) })

/** Every message, by its name in JavaScript. */
export const messages = {
  empty,
  contractRange,
  describeRequest,
  capabilities,
  declaration,
  patchRequest,
  patchResponse,
  startContext,
  startRequest,
  healthProbe,
  healthProbes,
  startEvent,
  debugRequest,
  debugResponse,
  authenticateRequest,
  proxyRef,
  sessionRequest,
  partReport,
  applyWork,
  applyReport,
  proxyCondition,
  refusedPeer,
  proxyObservation,
  partRequest,
  partResponse,
  partRef,
  policyUpdate,
  sidecarSettings,
  observability,
  meshConfig,
  pageRequest,
  metricDeclaration,
  metricDeclarations,
  measurement,
  measurements,
  logEntry,
  logEntries,
  credentialRef,
  watchRequest,
  roots,
  credential,
  trustBundle,
  serverTrust,
  eviction,
  brokerMessage,
  failure,
}
