import { never, works } from './row.mjs'

/** @typedef {import('./row.mjs').Section} Section */

const resolving = 'packages/core/src/config/resolve-mesh-config.test.ts'
const reading = 'packages/core/src/spec/testdata/examples.yaml'
const policies = 'packages/core/src/catalog/testdata/in/probes.yaml'
const patching = 'packages/driver-envoy/src/bootstrap/patch.test.ts'
const restarting = 'packages/core/src/config/restart-only.test.ts'
const injecting = 'packages/injector/src/inject/inject-pod.test.ts'
const podDns = 'packages/injector/src/sidecar/pod-dns.test.ts'
const lists = 'packages/injector/src/inject/traffic-lists.test.ts'
const noResync = 'the control plane tracks acknowledgements and sends a configuration only when it changes'
const namespaces = 'packages/core/src/catalog/policy/namespaces.test.ts'
const outside = 'e2e/api/controller-duties.test.ts'
const authorizing = 'e2e/dataplane/external-authorization.test.ts'
const admission = 'packages/controller/src/webhook/object-reviewer.test.ts'

/** @type {Section} */
export const meshConfig = {
  title: 'Fields of MeshConfig',
  introduction:
    'Paths are relative to `spec`. See [custom resources](crds.md#meshconfig) for types and defaults. `.{a,b}` stands for several fields.',
  rows: [
    never('clusterSet.properties[].{name,value}', 'names this cluster in policy documents; no driver uses it', [
      resolving,
      reading,
    ]),
    works('sidecar.enablePrivilegedInitContainer', [injecting, resolving]),
    works('sidecar.logLevel', [patching, resolving], { note: 'an unquoted `off` is also accepted' }),
    works('sidecar.maxDataPlaneConnections', 'packages/controller/src/start-controller.integration.test.ts'),
    works('sidecar.sidecarClass', [admission, restarting], { note: 'takes effect when the control plane starts' }),
    works('sidecar.sidecarImage', [injecting, patching]),
    works('sidecar.sidecarWindowsImage', resolving),
    works('sidecar.initContainerImage', [injecting, resolving]),
    works('sidecar.envoyImage', resolving, { note: "OSM's name of sidecarImage; applies to class envoy" }),
    works('sidecar.envoyWindowsImage', reading, { note: "OSM's name of sidecarWindowsImage; applies to class envoy" }),
    works('sidecar.sidecarDrivers[].{sidecarName,proxyServerPort}', restarting),
    works('sidecar.sidecarDrivers[].{sidecarImage,initContainerImage}', [injecting, resolving]),
    works('sidecar.sidecarDrivers[].sidecarWindowsImage', resolving),
    works('sidecar.sidecarDrivers[].config', restarting, { note: 'new; settings of the driver' }),
    never(
      'sidecar.sidecarDrivers[].sidecarDisabledMTLS',
      'traffic between sidecars always uses mutual TLS; the setting causes a warning',
      resolving,
    ),
    works('sidecar.resources.{limits,requests}', [injecting, resolving]),
    never('sidecar.configResyncInterval', noResync, resolving),
    works('sidecar.sidecarTimeout', resolving),
    works('sidecar.{tlsMinProtocolVersion,tlsMaxProtocolVersion}', [patching, resolving], {
      note: 'never below TLSv1_2',
    }),
    works('sidecar.{cipherSuites,ecdhCurves}', ['e2e/dataplane/mesh-settings.test.ts', resolving], {
      note: 'a list with which sidecars cannot negotiate TLS 1.2 is ignored and reported',
    }),
    works('sidecar.localProxyMode', [
      'packages/driver-testkit/scenarios/statefulset.yaml',
      'e2e/dataplane/interception.transparent.test.ts',
    ]),
    works('sidecar.localDNSProxy.enable', [resolving, podDns, 'e2e/pipy/dns.test.ts'], {
      note: 'class pipy only; reported as unsupported for class envoy',
    }),
    works('sidecar.localDNSProxy.{primaryUpstreamDNSServerIPAddr,secondaryUpstreamDNSServerIPAddr}', [reading, podDns]),
    never('repoServer.{ipaddr,codebase}', 'the repo of class pipy is part of osm-controller', resolving),
    works('traffic.interceptionMode', [injecting, patching], {
      note: 'iptables and none are supported; with ebpf, pods are refused',
    }),
    works('traffic.enableEgress', [
      'packages/driver-testkit/scenarios/egress.yaml',
      'packages/driver-testkit/scenarios/egress-explicit.yaml',
    ]),
    works('traffic.{outboundIPRangeExclusionList,outboundIPRangeInclusionList}', [
      'packages/driver-testkit/scenarios/ip-exclusion.yaml',
      lists,
      resolving,
    ]),
    works('traffic.{outboundPortExclusionList,inboundPortExclusionList}', [
      'packages/driver-testkit/scenarios/port-exclusion.yaml',
      lists,
      resolving,
    ]),
    works('traffic.networkInterfaceExclusionList', [lists, resolving]),
    works(
      'traffic.{http1PerRequestLoadBalancing,http2PerRequestLoadBalancing}',
      ['e2e/dataplane/request-balancing.test.ts', resolving],
      { note: 'class envoy always balances per request, even with false' },
    ),
    works('traffic.enablePermissiveTrafficPolicyMode', [
      'e2e/dataplane/http-policy.test.ts',
      'packages/core/src/catalog/testdata/in/permissive.yaml',
    ]),
    never('traffic.useHTTPSIngress', 'set it per backend in an IngressBackend', resolving),
    works('traffic.inboundExternalAuthorization.{enable,address,port,failureModeAllow}', [authorizing, policies]),
    works('traffic.inboundExternalAuthorization.statPrefix', resolving),
    works('traffic.inboundExternalAuthorization.timeout', [authorizing, resolving, reading]),
    works(
      'traffic.crossNamespace.{egress,egressGateway,accessCert,pluginConfig,pluginChain}',
      [namespaces, resolving],
      {
        note: 'new: true restores what osm-edge allowed without a ReferenceGrant',
      },
    ),
    works('traffic.escapedSlashes', ['e2e/dataplane/path-corpus.test.ts', resolving], {
      note: 'new; Reject responds with 400 to paths that OSM forwards',
    }),
    works('traffic.keepUnderscoreHeaders', ['e2e/dataplane/header-spelling.test.ts', resolving], {
      note: 'new; false removes headers that OSM forwards',
    }),
    works('traffic.plaintextNamespaces', 'e2e/dataplane/enrolment.transparent.test.ts', { note: 'new' }),
    works('traffic.networkGateway', 'e2e/dataplane/machine-gateway.transparent.test.ts', { note: 'new' }),
    works('traffic.policyWithdrawalTimeout', 'e2e/dataplane/tcp.test.ts', { note: 'new' }),
    works('traffic.{tcpIdleTimeout,streamIdleTimeout}', resolving, { note: 'new' }),
    works('observability.osmLogLevel', ['e2e/dataplane/log-level.test.ts', resolving], { note: 'live' }),
    works('observability.enableDebugServer', ['e2e/api/controller.test.ts', resolving], { note: 'live' }),
    works('observability.tracing.{enable,address,sampledFraction}', [policies, resolving]),
    works('observability.tracing.{port,endpoint}', resolving),
    works('observability.tracing.provider', 'e2e/dataplane/telemetry.test.ts', {
      note: 'new: spans for OpenTelemetry',
    }),
    works(
      'observability.remoteLogging.{enable,address,port,endpoint,level,authorization,sampledFraction}',
      ['e2e/pipy/remote-log.test.ts', resolving],
      { note: 'class pipy; reported as unsupported for class envoy' },
    ),
    works('certificate.{serviceCertValidityDuration,certKeyBitSize}', ['e2e/dataplane/continuity.test.ts', resolving]),
    works('certificate.keyAlgorithm', resolving, { note: 'new; the default is ECDSA, OSM has RSA only' }),
    works('certificate.serviceCertificates', ['e2e/dataplane/proxy-keys.test.ts', resolving], {
      note: 'new; perProxy sends no keys to sidecars, shared is the behaviour of OSM',
    }),
    works('certificate.ingressGateway.{subjectAltNames,validityDuration}', [outside, resolving], {
      note: 'the name must be `<account>.<namespace>.<trust domain>` of an identity that no workload of the mesh can have; OSM allowed any name',
    }),
    works('certificate.ingressGateway.secret.{name,namespace}', [outside, resolving], {
      note: 'in a namespace of the mesh, or with one of three names in the namespace of the control plane',
    }),
    works('featureFlags.enableWASMStats', ['e2e/dataplane/request-metrics.test.ts', policies, resolving], {
      note: 'request metrics, without WebAssembly',
    }),
    works('featureFlags.enableEgressPolicy', ['packages/driver-testkit/scenarios/egress-explicit.yaml', admission]),
    works('featureFlags.enableAccessCertPolicy', [outside, admission, resolving]),
    works('featureFlags.enableIngressBackendPolicy', [
      'packages/driver-testkit/scenarios/ingress-http.yaml',
      admission,
    ]),
    works('featureFlags.enableAccessControlPolicy', [
      'packages/driver-testkit/scenarios/ingress-access-control.yaml',
      admission,
    ]),
    works('featureFlags.enableRetryPolicy', [
      'packages/driver-testkit/scenarios/retry-policy.yaml',
      admission,
      resolving,
    ]),
    works('featureFlags.{enableSidecarActiveHealthChecks,enableEnvoyActiveHealthChecks}', [policies, resolving]),
    works('featureFlags.enablePluginPolicy', [
      'packages/core/src/catalog/policy/proxies/plugins.test.ts',
      admission,
      resolving,
    ]),
    never('featureFlags.enableSnapshotCacheMode', 'sidecars are always served incrementally', resolving),
    never('featureFlags.enableAsyncProxyServiceMapping', 'OSM and osm-edge also ignore it', resolving),
    never('featureFlags.enableMulticlusterMode', 'OSM and osm-edge also ignore it', resolving),
    never(
      'pluginChains.{inbound-tcp,inbound-http,outbound-tcp,outbound-http}[].{plugin,priority,disable}',
      'the stages of sidecars are fixed, so that rules run before plugins; differences from the stages of osm-edge are reported as `OSM_SPEC_NO_EFFECT`',
      reading,
    ),
  ],
}
