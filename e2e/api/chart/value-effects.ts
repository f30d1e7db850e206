/** A value of the chart, another value than its default, and what that changes. */
export interface ValueEffect {
  readonly path: string
  readonly value: unknown
  /** Other values that it takes to see it. */
  readonly with?: Readonly<Record<string, unknown>>
  /** Titles of the objects that are rendered otherwise, made or left out. */
  readonly changes: readonly string[]
  /** One of these is in each of them. Absent: the value itself. */
  readonly shows?: readonly string[]
}

/** A value that is written to the MeshConfig of a new mesh. */
export interface ConfiguredValue {
  readonly path: string
  readonly value: unknown
  /** Below `spec` of the MeshConfig. */
  readonly field: string
}

const controller = 'Deployment osm-controller'
const injector = 'Deployment osm-injector'
const bootstrap = 'Deployment osm-bootstrap'
const dashboard = 'Deployment osm-dashboard'
const prometheus = 'Deployment osm-prometheus'
const grafana = 'Deployment osm-grafana'
const dashboards = 'ConfigMap osm-grafana-dashboards'
const prometheusRule = 'PrometheusRule osm'
const preinstall = 'Job osm-preinstall'
const cleanup = 'Job osm-cleanup'
const health = 'Pod osm-control-plane-health'
const programs = [bootstrap, controller, injector]
const pods = [...programs, cleanup, preinstall]

const digest = `sha256:${'5e'.repeat(32)}`
const labels = { shown: 'by-a-label' }
const tolerations = [{ key: 'example.com/tolerated', operator: 'Exists' }]
const affinity = { podAffinity: { note: 'example.com/near' } }
const resources = { limits: { cpu: '0.77' } }
const spread = [{ topologyKey: 'example.com/rack', maxSkew: 1 }]

const effect = (
  path: string,
  value: unknown,
  changes: readonly string[],
  more: Pick<ValueEffect, 'with' | 'shows'> = {},
): ValueEffect => ({ path, value, changes, ...more })

/** Where the pods of a component run, and under which conditions. */
function placement(prefix: string, changes: readonly string[], more: Pick<ValueEffect, 'with'> = {}): ValueEffect[] {
  return [
    effect(`${prefix}.affinity`, affinity, changes, { ...more, shows: ['example.com/near'] }),
    effect(`${prefix}.nodeSelector`, labels, changes, { ...more, shows: ['by-a-label'] }),
    effect(`${prefix}.tolerations`, tolerations, changes, { ...more, shows: ['example.com/tolerated'] }),
  ]
}

function deployment(prefix: string, title: string): ValueEffect[] {
  return [
    effect(`${prefix}.replicaCount`, 3, [title]),
    effect(`${prefix}.resource`, resources, [title], { shows: ['0.77'] }),
    effect(`${prefix}.podLabels`, labels, [title], { shows: ['by-a-label'] }),
    ...placement(prefix, [title]),
  ]
}

function scaling(prefix: string, title: string, name: string): ValueEffect[] {
  const scaler = `HorizontalPodAutoscaler ${name}-hpa`
  const component = prefix.slice(prefix.lastIndexOf('.') + 1)
  const on = { with: { osm: { [component]: { autoScale: { enable: true } } } } }
  return [
    effect(`${prefix}.enablePodDisruptionBudget`, true, [`PodDisruptionBudget ${name}-pdb`], {
      shows: ['"minAvailable":1'],
    }),
    effect(`${prefix}.autoScale.enable`, true, [title, scaler], { shows: [name] }),
    effect(`${prefix}.autoScale.minReplicas`, 2, [scaler], { ...on, shows: ['"minReplicas":2'] }),
    effect(`${prefix}.autoScale.maxReplicas`, 7, [scaler], { ...on, shows: ['"maxReplicas":7'] }),
    effect(`${prefix}.autoScale.cpu.targetAverageUtilization`, 61, [scaler], on),
    effect(`${prefix}.autoScale.memory.targetAverageUtilization`, 62, [scaler], on),
    effect(`${prefix}.topologySpreadConstraints`, spread, [title], { shows: ['example.com/rack'] }),
  ]
}

const vaultSecret = { name: 'own', key: 'own-key' }
const vaultWith = (more: Readonly<Record<string, unknown>> = {}) => ({
  with: { osm: { certificateProvider: { kind: 'vault' }, vault: { host: 'vault', secret: vaultSecret, ...more } } },
})
const rootPreset = 'ConfigMap preset-mesh-root-certificate'
const providerEffects = [controller, rootPreset]
const kubernetesLogin = { auth: { kind: 'kubernetes', role: 'login' }, secret: { name: '', key: '' } }

/** Values of Vault, which count where it issues. */
const vaultValues: readonly ValueEffect[] = [
  effect('osm.vault.host', 'vault.example', providerEffects, vaultWith()),
  effect('osm.vault.port', 8277, providerEffects, vaultWith()),
  effect('osm.vault.protocol', 'https', providerEffects, vaultWith()),
  effect('osm.vault.role', 'signing', providerEffects, vaultWith()),
  effect('osm.vault.mount', 'pki_int', providerEffects, vaultWith()),
  effect('osm.vault.namespace', 'team-a', providerEffects, vaultWith()),
  effect('osm.vault.caSecret', 'vault-roots', [controller], { ...vaultWith(), shows: ['vault-roots'] }),
  effect('osm.vault.auth.kind', 'kubernetes', providerEffects, vaultWith({ auth: { role: 'login' } })),
  effect('osm.vault.auth.mount', 'k8s-other', providerEffects, vaultWith(kubernetesLogin)),
  effect('osm.vault.auth.role', 'other-login', providerEffects, vaultWith(kubernetesLogin)),
  effect('osm.vault.auth.tokenFile', '/vault/token', providerEffects, vaultWith(kubernetesLogin)),
  effect('osm.vault.secret.name', 'vault-login', [...providerEffects, 'Role osm-controller'], vaultWith()),
  effect('osm.vault.secret.key', 'vault-key', providerEffects, vaultWith()),
  effect('osm.vault.token', 'planted', ['Secret osm-vault-token', 'Role osm-controller', ...providerEffects], {
    ...vaultWith({ auth: { kind: 'tokenFile', tokenFile: '/vault/token' }, secret: { name: '', key: '' } }),
    shows: ['osm-vault-token', 'cGxhbnRlZA=='],
  }),
]

const certManagerWith = (more: Readonly<Record<string, unknown>> = {}) => ({
  with: { osm: { certificateProvider: { kind: 'cert-manager' }, certmanager: more } },
})

/** Values of cert-manager, which count where it issues. */
const certManagerValues: readonly ValueEffect[] = [
  effect('osm.certmanager.issuerName', 'issuer', providerEffects, certManagerWith()),
  effect('osm.certmanager.issuerKind', 'ClusterIssuer', providerEffects, certManagerWith()),
  effect('osm.certmanager.issuerGroup', 'issuers.example', providerEffects, certManagerWith()),
  effect('osm.certmanager.caSecret', 'issuer-roots', [...providerEffects, 'Role osm-controller'], certManagerWith()),
]

const withPrometheus = { with: { osm: { deployPrometheus: true } } }
const withGrafana = { with: { osm: { deployPrometheus: true, deployGrafana: true } } }
const withDashboard = { with: { osm: { dashboard: { enable: true } } } }
const logForwarder = 'Secret osm-fluent-bit'
const withFluentBit = (settings: object = {}) => ({
  with: { osm: { enableFluentbit: true, fluentBit: settings } },
})
const azureWorkspace = { outputPlugin: 'azure', workspaceId: 'workspace', primaryKey: 'planted' }
const httpProxies = { enableProxySupport: true, httpProxy: 'http://one.example', httpsProxy: 'http://two.example' }
const fluentBitValues: readonly ValueEffect[] = [
  effect('osm.fluentBit.name', 'another', [controller], withFluentBit()),
  effect('osm.fluentBit.registry', 'registry.example', [controller], withFluentBit()),
  effect('osm.fluentBit.tag', 'v7', [controller], withFluentBit()),
  effect('osm.fluentBit.pullPolicy', 'Always', [controller], withFluentBit()),
  ...(
    [
      ['outputPlugin', 'http', {}],
      ['outputSettings', { Host: 'logs.example' }, {}],
      ['workspaceId', 'another', azureWorkspace],
      ['primaryKey', 'another', azureWorkspace],
      ['httpProxy', 'http://another.example', httpProxies],
      ['httpsProxy', 'http://another.example', httpProxies],
    ] as const
  ).map(([key, value, settings]) =>
    // The checksum of the Secret restarts the pod.
    effect(`osm.fluentBit.${key}`, value, [controller, logForwarder], {
      ...withFluentBit(settings),
      shows: ['checksum/fluent-bit', 'fluent-bit.conf'],
    }),
  ),
  effect('osm.fluentBit.enableProxySupport', true, [controller, logForwarder], {
    ...withFluentBit({ ...httpProxies, enableProxySupport: false }),
    shows: ['HTTPS_PROXY'],
  }),
]
const withMachines = { with: { osm: { machines: { enable: true } } } }
const withDashboards = { with: { osm: { dashboards: { enable: true } } } }
const withPrometheusRule = { with: { osm: { prometheusRule: { enable: true } } } }
const withSpire = { with: { osm: { spire: { enable: true } } } }
const withJaeger = { with: { osm: { deployJaeger: true } } }

/** Values that change what is rendered, MeshConfig apart. */
export const effects: readonly ValueEffect[] = [
  ...vaultValues,
  ...certManagerValues,
  effect('osm.image.registry', 'registry.example', pods),
  effect('osm.image.pullPolicy', 'Always', [...pods, health]),
  effect('osm.image.tag', 'v7', pods),
  effect('osm.image.name.osmController', 'another', [controller]),
  effect('osm.image.name.osmInjector', 'another', [injector]),
  effect('osm.image.name.osmSidecarInit', 'another', [controller, injector]),
  effect('osm.image.name.osmBootstrap', 'another', [bootstrap]),
  effect('osm.image.name.osmCRDs', 'another', [cleanup]),
  effect('osm.image.name.osmDashboard', 'another', [dashboard], withDashboard),
  effect('osm.image.name.osmPreinstall', 'another', [preinstall]),
  effect('osm.image.digest.osmController', digest, [controller]),
  effect('osm.image.digest.osmInjector', digest, [injector]),
  effect('osm.image.digest.osmSidecarInit', digest, [controller, injector]),
  effect('osm.image.digest.osmBootstrap', digest, [bootstrap]),
  effect('osm.image.digest.osmCRDs', digest, [cleanup]),
  effect('osm.image.digest.osmDashboard', digest, [dashboard], withDashboard),
  effect('osm.image.digest.osmPreinstall', digest, [preinstall]),
  effect('osm.imagePullSecrets', [{ name: 'pull-secret' }], [...pods, health], { shows: ['pull-secret'] }),
  effect(
    'osm.sidecarClass',
    'pipy',
    [
      controller,
      injector,
      preinstall,
      'ConfigMap preset-mesh-config',
      'Service osm-controller',
      'NetworkPolicy osm-controller',
    ],
    { shows: ['pipy', '6060'] },
  ),
  effect('osm.sidecarImage', 'sidecar.example/envoy:1', [controller, injector]),
  effect('osm.sidecarWindowsImage', 'sidecar.example/windows:1', [controller, injector]),
  effect(
    'osm.driverPackages',
    [{ name: 'acme', path: '/drivers/acme', integrity: `sha512-${'A'.repeat(86)}==` }],
    [controller, injector, preinstall],
    { shows: ['/drivers/acme', '--available-sidecar-classes=envoy,pipy,acme'] },
  ),
  effect(
    'osm.endpointsProviders',
    [{ name: 'azure', path: '/providers/azure', integrity: `sha512-${'A'.repeat(86)}==`, secretName: 'azure' }],
    [controller, 'ClusterRole osm-osm-controller', 'CustomResourceDefinition azureresources.azure.openservicemesh.io'],
    { shows: ['OSM_ENDPOINTS_PROVIDERS', '/providers/azure', 'azureresources', '/etc/osm/endpoints/azure'] },
  ),
  effect('osm.nativeSidecar', 'off', [injector], { shows: ['--native-sidecar=off'] }),
  effect(
    'osm.proxyIdentity',
    'podCertificate',
    [
      controller,
      injector,
      'ClusterRole osm-osm-controller',
      'ClusterRole osm-osm-bootstrap-secrets',
      'ValidatingAdmissionPolicy osm-osm-pod-certificates',
      'ValidatingAdmissionPolicyBinding osm-osm-pod-certificates',
    ],
    { shows: ['--proxy-identity=podCertificate', 'sidecar.openservicemesh.io/osm', 'osm-osm-pod-certificates'] },
  ),
  effect('osm.workloadIdentity', 'spire', [injector], {
    ...withSpire,
    shows: ['--workload-identity=spire'],
  }),
  effect('osm.spire.enable', true, [controller, injector], {
    shows: [
      '--workload-api-socket=/run/osm/workload-api/spire-agent.sock',
      '--workload-api-csi-driver=csi.spiffe.io',
      '--workload-identity=mesh',
    ],
  }),
  effect('osm.spire.volume', 'hostPath', [controller, injector], {
    ...withSpire,
    shows: ['/run/spire/agent-sockets'],
  }),
  effect('osm.spire.csiDriver', 'csi.example', [controller, injector], {
    ...withSpire,
    shows: ['csi.example'],
  }),
  effect('osm.spire.hostPath', '/run/agent', [controller, injector], {
    with: { osm: { spire: { enable: true, volume: 'hostPath' } } },
    shows: ['/run/agent'],
  }),
  effect('osm.spire.socketName', 'api.sock', [controller, injector], {
    ...withSpire,
    shows: ['--workload-api-socket-name=api.sock', '/run/osm/workload-api/api.sock'],
  }),
  effect(
    'osm.machines.enable',
    true,
    [
      controller,
      'ClusterRole osm-osm-controller',
      'NetworkPolicy osm-controller',
      'Role osm-controller',
      'Service osm-machines',
    ],
    { shows: ['9097', '["get","patch"]', 'tokenreviews'] },
  ),
  effect('osm.machines.serviceType', 'ClusterIP', ['Service osm-machines'], withMachines),
  effect('osm.machines.serviceAnnotations', labels, ['Service osm-machines'], {
    ...withMachines,
    shows: ['by-a-label'],
  }),
  effect('osm.machines.azureRoots', '-----BEGIN CERTIFICATE-----', [controller], {
    ...withMachines,
    shows: ['OSM_MACHINE_AZURE_ROOTS', '-----BEGIN CERTIFICATE-----'],
  }),
  effect('osm.refusedEndpoints', ['10.96.0.0/12', 'fd00::/108'], [controller], {
    shows: ['--refused-endpoints=10.96.0.0/12,fd00::/108'],
  }),
  effect(
    'osm.dashboard.enable',
    true,
    [
      'ClusterRole osm-osm-controller',
      'ClusterRole osm-osm-dashboard',
      'ClusterRoleBinding osm-osm-dashboard',
      controller,
      dashboard,
      'NetworkPolicy osm-controller',
      'NetworkPolicy osm-dashboard',
      'Role osm-dashboard',
      'Role osm-dashboard-viewer',
      'RoleBinding osm-dashboard',
      'Service osm-dashboard',
      'ServiceAccount osm-dashboard',
    ],
    { shows: ['9098', 'osm-dashboard', 'tokenreviews'] },
  ),
  effect('osm.dashboard.tokenAudience', 'another-audience', [dashboard], withDashboard),
  effect('osm.dashboard.prometheusUrl', 'https://prometheus.example', [dashboard], withDashboard),
  effect('osm.dashboard.replicaCount', 3, [dashboard], withDashboard),
  effect('osm.dashboard.resource', resources, [dashboard], { ...withDashboard, shows: ['0.77'] }),
  effect('osm.dashboard.podLabels', labels, [dashboard], { ...withDashboard, shows: ['by-a-label'] }),
  effect('osm.dashboard.enablePodDisruptionBudget', true, ['PodDisruptionBudget osm-dashboard-pdb'], {
    ...withDashboard,
    shows: ['"minAvailable":1'],
  }),
  effect('osm.dashboard.topologySpreadConstraints', spread, [dashboard], {
    ...withDashboard,
    shows: ['example.com/rack'],
  }),
  ...placement('osm.dashboard', [dashboard], withDashboard),
  effect('osm.curlImage', 'sidecar.example/curl:1', [health]),
  ...deployment('osm.osmController', controller),
  ...scaling('osm.osmController', controller, 'osm-controller'),
  ...deployment('osm.injector', injector),
  ...scaling('osm.injector', injector, 'osm-injector'),
  effect('osm.injector.secretRate', 7, [injector], { shows: ['--secret-rate=7'] }),
  effect('osm.injector.namespaceSecretRate', 7, [injector], { shows: ['--namespace-secret-rate=7'] }),
  effect('osm.webhookClientCaSecret', 'api-server-ca', [controller, injector], {
    shows: ['--webhook-client-ca=/etc/osm/webhook-client-ca/ca.crt'],
  }),
  effect('osm.injector.webhookTimeoutSeconds', 7, [bootstrap, injector], { shows: ['--webhook-timeout=7'] }),
  ...deployment('osm.osmBootstrap', bootstrap),
  ...placement('osm.preinstall', [preinstall, health]),
  ...placement('osm.cleanup', [cleanup]),
  effect('osm.controlPlaneTolerations', tolerations, programs, { shows: ['example.com/tolerated'] }),
  effect('osm.priorityClassName', 'important', programs),
  effect(
    'osm.deployPrometheus',
    true,
    [
      'ServiceAccount osm-prometheus',
      'ConfigMap osm-prometheus-server-conf',
      'ClusterRole osm-osm-prometheus',
      'ClusterRoleBinding osm-osm-prometheus',
      'Service osm-prometheus',
      prometheus,
    ],
    { shows: ['osm-prometheus'] },
  ),
  effect('osm.prometheus.port', 7071, [prometheus, 'Service osm-prometheus'], withPrometheus),
  effect('osm.prometheus.retention.time', '3d', [prometheus], withPrometheus),
  effect('osm.prometheus.image', 'sidecar.example/prometheus:1', [prometheus], withPrometheus),
  effect('osm.prometheus.resources', resources, [prometheus], { ...withPrometheus, shows: ['0.77'] }),
  ...placement('osm.prometheus', [prometheus], withPrometheus),
  effect('osm.deployGrafana', true, ['ConfigMap osm-grafana-config', dashboards, 'Service osm-grafana', grafana], {
    ...withPrometheus,
    shows: ['osm-grafana'],
  }),
  effect('osm.grafana.port', 3077, [grafana, 'Service osm-grafana'], withGrafana),
  effect('osm.grafana.image', 'sidecar.example/grafana:1', [grafana], withGrafana),
  ...placement('osm.grafana', [grafana], withGrafana),
  effect('osm.dashboards.enable', true, [dashboards], { shows: ['osm-control-plane.json'] }),
  effect('osm.dashboards.labels', labels, [dashboards], {
    ...withDashboards,
    shows: ['by-a-label'],
  }),
  effect('osm.prometheusRule.enable', true, [prometheusRule], { shows: ['OsmControllerMissing'] }),
  effect('osm.prometheusRule.labels', labels, [prometheusRule], {
    ...withPrometheusRule,
    shows: ['by-a-label'],
  }),
  effect('osm.deployJaeger', true, ['Service jaeger', 'Deployment jaeger'], { shows: ['jaeger'] }),
  effect('osm.enableFluentbit', true, [controller, logForwarder], { shows: ['osm-fluent-bit'] }),
  ...fluentBitValues,
  effect('osm.tracing.image', 'sidecar.example/jaeger:1', ['Deployment jaeger'], withJaeger),
  ...placement('osm.tracing', ['Deployment jaeger'], withJaeger),
  effect('osm.trustDomain', 'trust.example', [...programs, 'ConfigMap preset-mesh-root-certificate']),
  effect('osm.clusterDomain', 'cluster.example', [...programs, health, 'ConfigMap preset-mesh-config']),
  effect('osm.caBundleSecretName', 'another-root', [
    ...programs,
    cleanup,
    'ConfigMap preset-mesh-root-certificate',
    'Role osm-bootstrap',
    'Role osm-controller',
    'Role osm-injector',
  ]),
  effect('osm.enableReconciler', true, programs, { shows: ['--enable-reconciler=true', '--enable-reconciler"'] }),
  effect('osm.controllerLogLevel', 'warn', [...pods, 'ConfigMap preset-mesh-config']),
  effect('osm.enforceSingleMesh', true, [controller, preinstall], {
    with: { osm: { enforceSingleMesh: false } },
    shows: ['"enforceSingleMesh":"true"', '--enforce-single-mesh=true'],
  }),
  effect('osm.webhookFailurePolicy', 'Ignore', [bootstrap]),
  effect('osm.webhookConfigNamePrefix', 'another-webhook', [
    bootstrap,
    injector,
    'ClusterRole osm-osm-bootstrap',
    'ClusterRole osm-osm-cleanup',
  ]),
  effect('osm.validatorWebhook.webhookConfigurationName', 'another-validator', [
    bootstrap,
    controller,
    'ClusterRole osm-osm-bootstrap',
    'ClusterRole osm-osm-cleanup',
  ]),
  effect('osm.featureFlags.enableMeshRootCertificate', true, [...programs, 'Role osm-controller'], {
    shows: ['--enable-mesh-root-certificate=true', '--enable-mesh-root-certificate"', 'certificaterequests'],
  }),
  effect(
    'osm.networkPolicy.webhookClients',
    [{ ipBlock: { cidr: '192.0.2.7/32' } }],
    ['NetworkPolicy osm-controller', 'NetworkPolicy osm-injector'],
    { shows: ['192.0.2.7/32'] },
  ),
  effect('osm.networkPolicy.enable', false, [
    'NetworkPolicy osm-bootstrap',
    'NetworkPolicy osm-controller',
    'NetworkPolicy osm-injector',
  ]),
  effect('smi.validateTrafficTarget', false, [bootstrap, controller], { shows: ['--validate-traffic-target=false'] }),
]

const configuredAs = (path: string, value: unknown, field: string): ConfiguredValue => ({ path, value, field })
const drivers = [{ sidecarName: 'envoy', proxyServerPort: 15200, sidecarDisabledMTLS: true, config: { any: 'thing' } }]
const stage = [{ plugin: 'modules/another', priority: 7, disable: true }]
const chains = { 'inbound-tcp': stage, 'inbound-http': [], 'outbound-tcp': [], 'outbound-http': stage }

/** Values that are written to the MeshConfig of a new mesh. */
export const configured: readonly ConfiguredValue[] = [
  configuredAs('osm.sidecarDrivers', drivers, 'sidecar.sidecarDrivers'),
  configuredAs('osm.repoServer.ipaddr', '192.0.2.7', 'repoServer.ipaddr'),
  configuredAs('osm.repoServer.codebase', 'edge', 'repoServer.codebase'),
  configuredAs('osm.pluginChains', chains, 'pluginChains'),
  configuredAs('osm.certificateProvider.serviceCertValidityDuration', '77s', 'certificate.serviceCertValidityDuration'),
  configuredAs('osm.certificateProvider.certKeyBitSize', 3072, 'certificate.certKeyBitSize'),
  configuredAs('osm.certificateProvider.keyAlgorithm', 'RSA', 'certificate.keyAlgorithm'),
  configuredAs('osm.certificateProvider.serviceCertificates', 'shared', 'certificate.serviceCertificates'),
  configuredAs('osm.enableDebugServer', true, 'observability.enableDebugServer'),
  configuredAs('osm.enablePermissiveTrafficPolicy', false, 'traffic.enablePermissiveTrafficPolicyMode'),
  configuredAs('osm.enableEgress', false, 'traffic.enableEgress'),
  configuredAs('osm.http1PerRequestLoadBalancing', true, 'traffic.http1PerRequestLoadBalancing'),
  configuredAs('osm.http2PerRequestLoadBalancing', false, 'traffic.http2PerRequestLoadBalancing'),
  ...['egress', 'egressGateway', 'accessCert', 'pluginConfig', 'pluginChain'].map((name) =>
    configuredAs(`osm.crossNamespace.${name}`, true, `traffic.crossNamespace.${name}`),
  ),
  configuredAs('osm.trafficInterceptionMode', 'none', 'traffic.interceptionMode'),
  configuredAs('osm.sidecarLogLevel', 'critical', 'sidecar.logLevel'),
  configuredAs('osm.localProxyMode', 'PodIP', 'sidecar.localProxyMode'),
  configuredAs('osm.localDNSProxy.enable', true, 'sidecar.localDNSProxy.enable'),
  configuredAs(
    'osm.localDNSProxy.primaryUpstreamDNSServerIPAddr',
    '192.0.2.53',
    'sidecar.localDNSProxy.primaryUpstreamDNSServerIPAddr',
  ),
  configuredAs(
    'osm.localDNSProxy.secondaryUpstreamDNSServerIPAddr',
    '192.0.2.54',
    'sidecar.localDNSProxy.secondaryUpstreamDNSServerIPAddr',
  ),
  configuredAs('osm.maxDataPlaneConnections', 77, 'sidecar.maxDataPlaneConnections'),
  configuredAs('osm.configResyncInterval', '2m', 'sidecar.configResyncInterval'),
  configuredAs('osm.sidecarTimeout', 77, 'sidecar.sidecarTimeout'),
  configuredAs('osm.sidecarResources', resources, 'sidecar.resources'),
  configuredAs('osm.tracing.enable', true, 'observability.tracing.enable'),
  configuredAs('osm.tracing.provider', 'opentelemetry', 'observability.tracing.provider'),
  configuredAs('osm.tracing.address', 'zipkin.example', 'observability.tracing.address'),
  configuredAs('osm.tracing.port', 9477, 'observability.tracing.port'),
  configuredAs('osm.tracing.endpoint', '/spans', 'observability.tracing.endpoint'),
  configuredAs('osm.tracing.sampledFraction', '0.25', 'observability.tracing.sampledFraction'),
  configuredAs('osm.remoteLogging.enable', true, 'observability.remoteLogging.enable'),
  configuredAs('osm.remoteLogging.level', 1, 'observability.remoteLogging.level'),
  configuredAs('osm.remoteLogging.address', 'logs.example', 'observability.remoteLogging.address'),
  configuredAs('osm.remoteLogging.port', 8177, 'observability.remoteLogging.port'),
  configuredAs('osm.remoteLogging.endpoint', '/logs', 'observability.remoteLogging.endpoint'),
  configuredAs('osm.remoteLogging.authorization', 'Basic eA==', 'observability.remoteLogging.authorization'),
  configuredAs('osm.remoteLogging.sampledFraction', '0.75', 'observability.remoteLogging.sampledFraction'),
  configuredAs('osm.outboundIPRangeExclusionList', ['10.77.0.0/16'], 'traffic.outboundIPRangeExclusionList'),
  configuredAs('osm.outboundIPRangeInclusionList', ['10.0.0.0/8'], 'traffic.outboundIPRangeInclusionList'),
  configuredAs('osm.outboundPortExclusionList', [7777], 'traffic.outboundPortExclusionList'),
  configuredAs('osm.inboundPortExclusionList', [7778], 'traffic.inboundPortExclusionList'),
  configuredAs('osm.networkInterfaceExclusionList', ['net7'], 'traffic.networkInterfaceExclusionList'),
  configuredAs('osm.enablePrivilegedInitContainer', true, 'sidecar.enablePrivilegedInitContainer'),
  ...[
    'enableWASMStats',
    'enableAsyncProxyServiceMapping',
    'enableAccessControlPolicy',
    'enableAccessCertPolicy',
    'enableSidecarActiveHealthChecks',
    'enableSnapshotCacheMode',
    'enableRetryPolicy',
    'enablePluginPolicy',
  ].map((flag) => configuredAs(`osm.featureFlags.${flag}`, true, `featureFlags.${flag}`)),
  configuredAs('osm.featureFlags.enableEgressPolicy', false, 'featureFlags.enableEgressPolicy'),
  configuredAs('osm.featureFlags.enableIngressBackendPolicy', false, 'featureFlags.enableIngressBackendPolicy'),
]

/** Names that OSM had for other values. */
export const synonyms: readonly ConfiguredValue[] = [
  configuredAs('osm.envoyLogLevel', 'trace', 'sidecar.logLevel'),
  configuredAs('osm.featureFlags.enableEnvoyActiveHealthChecks', true, 'featureFlags.enableSidecarActiveHealthChecks'),
]

/** Values that are accepted and change nothing. */
export const withoutEffect: Readonly<Record<string, unknown>> = {
  'osm.image.name.osmHealthcheck': 'another',
  'osm.image.name.osmInterceptor': 'another',
  'osm.image.digest.osmHealthcheck': digest,
  'osm.image.digest.osmInterceptor': digest,
  'osm.repoServer.image': 'sidecar.example/repo:1',
  'osm.osmInterceptor.kernelTracing': false,
  'osm.osmInterceptor.cniMode': false,
  'osm.osmInterceptor.kindMode': true,
  'osm.osmInterceptor.resource': resources,
  'osm.osmInterceptor.affinity': affinity,
  'osm.osmInterceptor.tolerations': tolerations,
  'osm.grafana.rendererImage': 'sidecar.example/renderer:1',
}

/** Values that are refused unless they say what holds anyway, and what they are refused with. */
export const refusedValues: Readonly<Record<string, unknown>> = {
  'osm.repoServer.standalone': true,
  'osm.certificateProvider.kind': 'vault',
  'osm.grafana.enableRemoteRendering': true,
  'contour.enabled': true,
  'fsm.enabled': true,
}

/** Values that stand all over what is rendered. */
export const everywhere = { meshName: 'osm.meshName', osmNamespace: 'osm.osmNamespace' } as const
