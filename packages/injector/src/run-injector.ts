import {
  type CertificateManager,
  type Clock,
  defaultCertificateSettings,
  issuanceLog,
  MeshCertificateManager,
  type Metrics,
  type ProcessLogger,
  type Random,
} from '@osm-ts/core'
import { type KubernetesApi, meshObjectLabels, retryAtStartup, SharedAuthority } from '@osm-ts/kubernetes'
import { listen, type ListenAddress, servingCertificate, webhookLimits } from '@osm-ts/program'

import type { InjectionSettings } from './inject/settings.js'
import { BootstrapSecrets } from './server/bootstrap-secrets.js'
import { MeshState } from './server/mesh-state.js'
import { clusterFeatures, type ClusterFeatures, type NativeSidecarMode } from './server/cluster-features.js'
import { PodReviewer } from './server/reviewer.js'
import { podWebhook } from './server/pod-webhook.js'
import { PodCertificateSupport } from './server/pod-certificate-support.js'
import { SecretBudget, type SecretBudgetOptions } from './server/secret-budget.js'

/** The Service that the API server calls, as OSM has it. */
const SERVICE = 'osm-injector'

/** Settings that hold from the start and to the end. */
type FixedSettings = Omit<InjectionSettings, 'config' | 'configView' | 'trustBundle' | keyof ClusterFeatures>

/** What an injector runs with. */
export interface InjectorOptions extends FixedSettings {
  readonly api: KubernetesApi
  readonly configName: string
  readonly caBundleSecretName: string
  readonly nativeSidecar: NativeSidecarMode
  readonly listen: ListenAddress
  /** How long the API server waits at most. */
  readonly timeoutMs: number
  /** PEM. Present: the API server has to show a certificate of this CA. */
  readonly clientCa: string | undefined
  readonly secretRates: Omit<SecretBudgetOptions, 'monotonic'>
  readonly clock: Clock
  readonly random: Random
  readonly logger: ProcessLogger
  readonly metrics: Metrics
  /** Given what says from now on whether pods can be answered. */
  readonly onReady: (isReady: () => boolean) => void
  readonly signal: AbortSignal
}

/**
 * Answers the API server's questions until the signal aborts.
 *
 * @throws OsmError for what no waiting can mend
 */
export async function runInjector(options: InjectorOptions): Promise<void> {
  const { api, clock, random, logger, metrics, signal, osmNamespace, domains, meshName } = options
  const authority = await SharedAuthority.open({
    api,
    namespace: osmNamespace,
    secretName: options.caBundleSecretName,
    labels: { ...meshObjectLabels(meshName), meshName },
    authorities: ['control-plane'],
    clock,
    random,
    logger,
    metrics,
    signal,
  })
  const { provider } = authority
  const settings = (): typeof defaultCertificateSettings => defaultCertificateSettings
  const certificates = new MeshCertificateManager({
    provider,
    settings,
    issuanceLog: issuanceLog(logger.child('audit')),
    clock,
    random,
    signal,
    domains,
  })
  const ask = (): Promise<ClusterFeatures> => clusterFeatures(options.nativeSidecar, api, signal)
  const features = await retryAtStartup('version of the API server', ask, options)
  const state = new MeshState({
    api,
    clock,
    random,
    logger,
    metrics,
    configName: options.configName,
    base: { ...settingsOf(options), ...features },
    trustBundle: () => certificates.trustBundle('control-plane'),
  })
  const serving = await servingCertificate({ certificates, domains, osmNamespace, name: SERVICE })
  const budget = new SecretBudget({ ...options.secretRates, monotonic: () => performance.now() })
  const secrets = new BootstrapSecrets(api, meshName, budget)
  const reviewer = new PodReviewer({
    state,
    certificates,
    secrets,
    podCertificates: new PodCertificateSupport(api, () => performance.now()),
    logger,
    metrics,
  })
  const { app, replaceKey } = podWebhook({
    reviewer,
    key: serving.current(),
    timeoutMs: options.timeoutMs,
    clientCa: options.clientCa,
    logger,
    metrics,
  })
  const work = Promise.all([
    certificates.run(signal),
    serving.follow(replaceKey, signal),
    authority.follow(signal),
    followRoots(certificates, () => state.trustChanged(), signal),
  ])
  try {
    const port = await listen(app, options.listen, { name: 'webhook', limits: webhookLimits, metrics, logger })
    options.onReady(() => state.ready)
    await state.start(signal)
    logger.info({ port, ...features, classes: options.registry.names() }, 'injecting sidecars')
    await work
  } finally {
    await app.close()
    provider.close()
  }
}

/** Calls back when the roots that sidecars trust have changed. */
async function followRoots(certificates: CertificateManager, listener: () => void, signal: AbortSignal): Promise<void> {
  for await (const { type } of certificates.subscribe(signal))
    if (type === 'rootChanged' || type === 'missed') listener()
}

function settingsOf({
  meshName,
  osmNamespace,
  domains,
  registry,
  environment,
  proxyIdentity,
  workloadApi,
  pullPolicy,
  ipFamilies,
  nameservers,
  version,
}: InjectorOptions): FixedSettings {
  return {
    meshName,
    osmNamespace,
    domains,
    registry,
    environment,
    proxyIdentity,
    ...(workloadApi === undefined ? {} : { workloadApi }),
    pullPolicy,
    ipFamilies,
    nameservers,
    version,
  }
}
