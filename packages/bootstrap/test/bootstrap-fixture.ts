import { Metrics, systemClock } from '@osm-ts/core'
import { customResourceDefinitions, type KubernetesObject, resourceTypes } from '@osm-ts/kubernetes'

import type { BootstrapOptions } from '../src/bootstrap-options.js'
import { runBootstrap } from '../src/run-bootstrap.js'
import type { WebhookSettings } from '../src/webhooks/webhook-configurations.js'
import { webhooksOf } from '../src/webhooks/write-webhook-configuration.js'
import { MemoryCluster } from './memory-cluster.js'
import { RecordingLogger } from './recording-logger.js'

/** Spec of the preset that {@link clusterWithPreset} holds. */
export const preset = {
  sidecar: { sidecarClass: 'envoy', logLevel: 'error' },
  traffic: { enableEgress: true },
} as const

/** Namespace of the control plane. */
export const NAMESPACE = 'osm-system'
const CONTROL_PLANE_ROOT = 'osm-ca-bundle-control-plane'

/** How a bootstrap of {@link startBootstrap} has webhooks called. */
export function webhookSettings(change: Partial<WebhookSettings> = {}): WebhookSettings {
  return {
    mesh: { meshName: 'osm', osmNamespace: NAMESPACE, osmVersion: 'v1' },
    mutatingName: 'osm-webhook-osm',
    validatingName: 'osm-validator-mesh-osm',
    timeoutSeconds: 20,
    failurePolicy: 'Fail',
    validateTrafficTarget: true,
    ...change,
  }
}

/** A cluster in which a chart has put its presets. */
export function clusterWithPreset(spec: unknown = preset): MemoryCluster {
  const cluster = new MemoryCluster()
  putPreset(cluster, 'preset-mesh-config', spec)
  putPreset(cluster, 'preset-mesh-root-certificate', { trustDomain: 'cluster.local', provider: { tresor: {} } })
  return cluster
}

/** Puts a preset as a chart does. */
export function putPreset(cluster: MemoryCluster, name: string, spec: unknown): void {
  const data = { [`${name}.json`]: typeof spec === 'string' ? spec : JSON.stringify(spec) }
  cluster.put(resourceTypes.ConfigMap, { metadata: { namespace: NAMESPACE, name }, data })
}

/** A bootstrap that runs. */
export interface RunningBootstrap {
  readonly logger: RecordingLogger
  readonly metrics: Metrics
  readonly reports: readonly (readonly [reason: string, message: string])[]
  /** Resolves when everything is in place; rejects if the bootstrap ends before. */
  readonly ready: Promise<void>
  /** Ends with the bootstrap. */
  readonly ended: Promise<void>
  /** Asks it to end, and waits until it has. */
  stop(): Promise<void>
}

/** Starts a bootstrap. Delays between attempts are short, whatever their rule says. */
export function startBootstrap(cluster: MemoryCluster, options: Partial<BootstrapOptions> = {}): RunningBootstrap {
  const ending = new AbortController()
  const logger = new RecordingLogger()
  const metrics = new Metrics()
  const reports: [string, string][] = []
  let ended: Promise<void> = Promise.resolve()
  const ready = new Promise<void>((resolve, reject) => {
    ended = runBootstrap({
      api: cluster,
      webhooks: webhookSettings(),
      definitions: customResourceDefinitions(),
      configName: 'osm-mesh-config',
      caBundleSecretName: 'osm-ca-bundle',
      enableMeshRootCertificate: false,
      enableReconciler: false,
      clock: {
        now: () => systemClock.now(),
        setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs > 60_000 ? delayMs : delayMs / 100),
      },
      random: () => 0,
      logger,
      metrics,
      report: (reason, message) => reports.push([reason, message]),
      onReady: resolve,
      signal: ending.signal,
      ...options,
    })
    ended.then(() => reject(new Error('ended before it was ready')), reject)
  })
  const settled = ended.then(
    () => undefined,
    () => undefined,
  )
  return {
    logger,
    metrics,
    reports,
    ready,
    ended,
    stop: async () => {
      ending.abort()
      await settled
    },
  }
}

/** Bootstraps of a test, which end with it. */
export class Bootstraps {
  readonly #running: RunningBootstrap[] = []

  start(cluster: MemoryCluster, options: Partial<BootstrapOptions> = {}): RunningBootstrap {
    const bootstrap = startBootstrap(cluster, options)
    this.#running.push(bootstrap)
    return bootstrap
  }

  /** Starts one, waits until it is ready and ends it. */
  async run(cluster: MemoryCluster, options: Partial<BootstrapOptions> = {}): Promise<RunningBootstrap> {
    const bootstrap = this.start(cluster, options)
    await bootstrap.ready
    await bootstrap.stop()
    return bootstrap
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((bootstrap) => bootstrap.stop()))
  }
}

export function configOf(cluster: MemoryCluster): KubernetesObject | undefined {
  return cluster.find(resourceTypes.MeshConfig, 'osm-mesh-config', NAMESPACE)
}

export function mutatingOf(cluster: MemoryCluster): KubernetesObject | undefined {
  return cluster.find(resourceTypes.MutatingWebhookConfiguration, 'osm-webhook-osm')
}

export function validatingOf(cluster: MemoryCluster): KubernetesObject | undefined {
  return cluster.find(resourceTypes.ValidatingWebhookConfiguration, 'osm-validator-mesh-osm')
}

/** PEM of the roots that a webhook is verified by. */
export function trustOf(object: KubernetesObject | undefined): string {
  return Buffer.from((object && webhooksOf(object)[0]?.clientConfig.caBundle) ?? '', 'base64').toString()
}

/** PEM of the root that signs for the control plane. */
export function rootOf(cluster: MemoryCluster): string {
  const data = cluster.find(resourceTypes.Secret, CONTROL_PLANE_ROOT, NAMESPACE)?.data as Record<string, string>
  return Buffer.from(data['ca.crt'] ?? '', 'base64').toString()
}

/** Replaces the root of a cluster by that of another one. */
export function replaceRoot(cluster: MemoryCluster, other: MemoryCluster): void {
  const data = other.find(resourceTypes.Secret, CONTROL_PLANE_ROOT, NAMESPACE)?.data
  cluster.edit(resourceTypes.Secret, CONTROL_PLANE_ROOT, (object) => ({ ...object, data }))
}
