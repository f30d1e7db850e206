import { never, refused, works } from './row.mjs'

/** @typedef {import('./row.mjs').Section} Section */

/** What each value changes, which e2e/api/chart-every-value.test.ts renders. */
const effects = 'e2e/api/chart/value-effects.ts'
const values = 'e2e/api/chart-values.test.ts'
const chart = 'e2e/api/chart.test.ts'

/** osm-edge served scripts and keys from its own container, over plain HTTP. */
const repo = 'the repo of class pipy is part of osm-controller, at the port of the class'

const noInterceptor = 'eBPF interception is not available'

/** @type {Section} */
export const chartValues = {
  title: 'Values of the chart',
  introduction:
    'See [values of the chart](chart.md) for descriptions. Values that are written to MeshConfig have the effect of the MeshConfig field, listed above.',
  rows: [
    works('osm.image.{registry,pullPolicy,tag}', [effects, values]),
    works('osm.image.name.{osmController,osmInjector,osmSidecarInit,osmBootstrap,osmCRDs,osmPreinstall}', effects, {
      note: 'osmCRDs is the clean-up job',
    }),
    works('osm.image.{name,digest}.osmDashboard', effects, { note: 'new' }),
    never('osm.image.name.osmHealthcheck', 'TCP probes need no separate container', effects),
    never('osm.image.name.osmInterceptor', noInterceptor, effects),
    works('osm.image.digest.{osmController,osmInjector,osmSidecarInit,osmBootstrap,osmCRDs,osmPreinstall}', effects),
    never('osm.image.digest.osmHealthcheck', 'TCP probes need no separate container', effects),
    never('osm.image.digest.osmInterceptor', noInterceptor, effects),
    works('osm.imagePullSecrets', effects),
    works('osm.sidecarClass', [effects, 'e2e/api/install.test.ts', 'e2e/api/upgrade.test.ts'], {
      note: 'the default is envoy, in osm-edge pipy; osm-preinstall refuses a class without a driver',
    }),
    works('osm.{sidecarImage,sidecarWindowsImage}', [effects, chart], {
      note: 'for class pipy 1.5.18; 0.90.3-38 of osm-edge is refused',
    }),
    works('osm.sidecarDrivers', [effects, values]),
    works('osm.driverPackages', [effects, values], { note: 'new' }),
    works('osm.endpointsProviders', [effects, values], { note: 'new' }),
    works('osm.nativeSidecar', effects, { note: 'new' }),
    works('osm.proxyIdentity', effects, { note: 'new' }),
    works('osm.workloadIdentity', effects, { note: 'new' }),
    works('osm.spire.{enable,volume,csiDriver,hostPath,socketName}', effects, { note: 'new' }),
    works('osm.machines.{enable,serviceType,serviceAnnotations,azureRoots}', effects, { note: 'new' }),
    works('osm.refusedEndpoints', effects, { note: 'new' }),
    works('osm.dashboard.{enable,tokenAudience,prometheusUrl,replicaCount,resource,podLabels}', effects, {
      note: 'new',
    }),
    works('osm.dashboard.{enablePodDisruptionBudget,affinity,nodeSelector,tolerations}', effects, { note: 'new' }),
    works('osm.dashboard.topologySpreadConstraints', effects, { note: 'new' }),
    works('osm.curlImage', effects, { note: 'for the pods of helm test' }),
    never('osm.repoServer.image', repo, effects),
    refused('osm.repoServer.standalone', repo, values),
    never('osm.repoServer.{ipaddr,codebase}', repo, effects),
    never('osm.pluginChains', 'the stages of sidecars are fixed; see `pluginChains` of the MeshConfig', effects),
    works('osm.osmController.{replicaCount,resource,podLabels,enablePodDisruptionBudget}', effects),
    works('osm.osmController.autoScale.{enable,minReplicas,maxReplicas}', effects, { note: 'autoscaling/v2' }),
    works('osm.osmController.autoScale.{cpu,memory}.targetAverageUtilization', effects),
    works('osm.osmController.{affinity,nodeSelector,tolerations,topologySpreadConstraints}', effects),
    never('osm.osmInterceptor.{kernelTracing,cniMode,kindMode,resource,affinity,tolerations}', noInterceptor, effects),
    works('osm.prometheus.{port,image,resources,nodeSelector,affinity,tolerations}', effects),
    works('osm.prometheus.retention.time', effects),
    works('osm.{trustDomain,clusterDomain}', effects, { note: 'clusterDomain is new' }),
    works('osm.certificateProvider.kind', values),
    works(
      'osm.certificateProvider.{serviceCertValidityDuration,certKeyBitSize,keyAlgorithm,serviceCertificates}',
      effects,
      {
        note: 'keyAlgorithm and serviceCertificates are new',
      },
    ),
    works('osm.vault.{host,port,protocol,role}', effects),
    works('osm.vault.token', effects, { note: 'stored in a Secret, not in a flag' }),
    works('osm.vault.secret.{name,key}', effects),
    works('osm.vault.{mount,namespace,caSecret}', effects, { note: 'new' }),
    works('osm.vault.auth.{kind,mount,role,tokenFile}', effects, { note: 'new' }),
    works('osm.certmanager.{issuerName,issuerKind,issuerGroup}', effects),
    works('osm.certmanager.caSecret', effects, { note: 'new' }),
    works('osm.caBundleSecretName', effects),
    works('osm.grafana.{port,image,nodeSelector,affinity,tolerations}', effects, {
      note: 'the image is of Grafana 12',
    }),
    refused('osm.grafana.enableRemoteRendering', 'the chart does not include an image renderer', values),
    never('osm.grafana.rendererImage', 'the chart does not include an image renderer', effects),
    works('osm.dashboards.{enable,labels}', effects, { note: 'new' }),
    works('osm.prometheusRule.{enable,labels}', effects, { note: 'new' }),
    works('osm.{enableDebugServer,enablePermissiveTrafficPolicy,enableEgress}', effects),
    works('osm.{http1PerRequestLoadBalancing,http2PerRequestLoadBalancing}', effects, {
      note: 'class envoy always balances per request',
    }),
    works('osm.crossNamespace.{egress,egressGateway,accessCert,pluginConfig,pluginChain}', effects, {
      note: 'new: true restores what osm-edge allowed',
    }),
    works('osm.trafficInterceptionMode', [effects, values], { note: 'iptables and none; ebpf is refused' }),
    works('osm.enableReconciler', effects),
    works('osm.{deployPrometheus,deployJaeger}', effects),
    works('osm.deployGrafana', [effects, values], {
      note: 'requires deployPrometheus; dashboards can be viewed without login, and logins are disabled',
    }),
    works('osm.enableFluentbit', [effects, values]),
    works(
      'osm.fluentBit.{name,registry,tag,pullPolicy,outputPlugin,workspaceId,primaryKey,enableProxySupport,httpProxy,httpsProxy}',
      [effects, values],
      { note: 'the default of tag is 5.1.1' },
    ),
    works('osm.fluentBit.outputSettings', [effects, values], { note: 'new' }),
    works('osm.meshName', [effects, chart]),
    works('osm.{sidecarLogLevel,envoyLogLevel}', effects, { note: 'envoyLogLevel is the name in OSM' }),
    works('osm.localProxyMode', effects),
    works('osm.localDNSProxy.{enable,primaryUpstreamDNSServerIPAddr,secondaryUpstreamDNSServerIPAddr}', effects, {
      note: 'class pipy',
    }),
    works('osm.{maxDataPlaneConnections,sidecarTimeout,sidecarResources}', effects, {
      note: 'sidecarResources is new',
    }),
    never('osm.configResyncInterval', 'as in MeshConfig', effects),
    works('osm.{controllerLogLevel,enforceSingleMesh,webhookConfigNamePrefix,osmNamespace}', effects),
    works('osm.{webhookFailurePolicy,webhookClientCaSecret}', effects, { note: 'new' }),
    works('osm.tracing.{enable,address,port,endpoint,sampledFraction}', effects),
    works('osm.tracing.provider', effects, { note: 'new' }),
    works('osm.tracing.{image,nodeSelector,affinity,tolerations}', effects),
    works('osm.remoteLogging.{enable,level,address,port,endpoint,authorization,sampledFraction}', effects, {
      note: 'class pipy; reported as unsupported for class envoy',
    }),
    works('osm.{outboundIPRangeExclusionList,outboundIPRangeInclusionList}', effects),
    works('osm.{outboundPortExclusionList,inboundPortExclusionList,networkInterfaceExclusionList}', effects),
    works('osm.injector.{replicaCount,resource,podLabels,enablePodDisruptionBudget,webhookTimeoutSeconds}', effects),
    works('osm.injector.{secretRate,namespaceSecretRate}', effects, { note: 'new' }),
    works('osm.injector.autoScale.{enable,minReplicas,maxReplicas}', effects, { note: 'autoscaling/v2' }),
    works('osm.injector.autoScale.{cpu,memory}.targetAverageUtilization', effects),
    works('osm.injector.{affinity,nodeSelector,tolerations,topologySpreadConstraints}', effects),
    works('osm.enablePrivilegedInitContainer', effects),
    works('osm.featureFlags.enableWASMStats', effects),
    works('osm.featureFlags.enableAccessCertPolicy', effects),
    works('osm.featureFlags.{enableEgressPolicy,enableIngressBackendPolicy}', effects),
    works('osm.featureFlags.{enableAccessControlPolicy,enableRetryPolicy}', effects),
    works('osm.featureFlags.{enableSidecarActiveHealthChecks,enableEnvoyActiveHealthChecks}', effects),
    works('osm.featureFlags.enablePluginPolicy', effects),
    never('osm.featureFlags.{enableAsyncProxyServiceMapping,enableSnapshotCacheMode}', 'as in MeshConfig', effects),
    works('osm.featureFlags.enableMeshRootCertificate', effects, { note: 'read at the start of a controller' }),
    works('osm.controlPlaneTolerations', effects),
    works('osm.{priorityClassName,networkPolicy.enable,networkPolicy.webhookClients}', effects, { note: 'new' }),
    works('osm.osmBootstrap.{replicaCount,resource,podLabels,nodeSelector,affinity,tolerations}', effects),
    works('osm.validatorWebhook.webhookConfigurationName', effects),
    works('osm.preinstall.{affinity,nodeSelector,tolerations}', effects),
    works('osm.cleanup.{affinity,nodeSelector,tolerations}', effects),
    works('smi.validateTrafficTarget', effects),
    refused('contour.enabled', 'install Contour with its own chart', values),
    refused('fsm.enabled', "install Flomesh's gateway with its own chart", values),
  ],
}
