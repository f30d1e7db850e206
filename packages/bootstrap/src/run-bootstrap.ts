import { RootBundle, TresorProvider } from '@osm-ts/core'
import { SecretCaStore, type KubernetesApi, apiVersionOf, isKubernetesError, resourceTypes } from '@osm-ts/kubernetes'

import type { BootstrapOptions } from './bootstrap-options.js'
import { bringInDefinitions, keptDefinitions } from './crds/kept-definitions.js'
import { ensureMeshConfig } from './mesh-config/ensure-mesh-config.js'
import { meshLabels, type MeshIdentity } from './mesh-identity.js'
import { Reconciler } from './reconcile/reconciler.js'
import { RefusableStep } from './refusable-step.js'
import { persist } from './retry.js'
import { RootFollower } from './webhooks/follow-root.js'
import { currentCaBundles } from './webhooks/current-ca-bundles.js'
import type { KeptObject } from './reconcile/kept-object.js'
import {
  webhookConfigurationName,
  type WebhookKind,
  type WebhookSettings,
  type WebhookTrust,
  webhookType,
} from './webhooks/webhook-configurations.js'
import {
  webhookFingerprint,
  writeWebhookConfiguration,
  type WriteExtent,
} from './webhooks/write-webhook-configuration.js'
import { readPreset } from './mesh-config/read-preset.js'

/** ConfigMap of the chart. */
const PRESET = 'preset-mesh-root-certificate'

/** OSM's name for the one that the preset makes. */
const NAME = 'osm-mesh-root-certificate'

const type = resourceTypes.MeshRootCertificate

/** What {@link keptWebhooks} are made of. */
interface KeptWebhooksOptions {
  readonly api: KubernetesApi
  readonly settings: WebhookSettings
  readonly reconcile: boolean
  /** What is trusted now. */
  readonly trust: () => WebhookTrust
  readonly extent: () => WriteExtent
}

/**
 * Brings in what a mesh needs in the cluster, then keeps it until the signal aborts.
 *
 * Every step can be done again, and every write is one request that is done or not done: wherever a bootstrap ends, the
 * next one goes on from what it finds. Several at once do the same work and find it done.
 *
 * @throws OsmError for what no waiting can mend
 */
export async function runBootstrap(options: BootstrapOptions): Promise<void> {
  const { api, webhooks: settings, enableReconciler, signal, logger, clock } = options
  const { mesh } = settings
  const bundle = new RootBundle(clock)
  let started = false
  const webhooks = keptWebhooks({
    api,
    settings,
    reconcile: enableReconciler,
    trust: () => ({ pem: bundle.roots().join(''), since: bundle.since }),
    extent: () => (enableReconciler ? 'whole' : started ? 'trust' : 'changed'),
  })
  const meshConfig = new RefusableStep({
    ...options,
    kind: 'MeshConfig',
    run: (scope) => ensureMeshConfig({ api, mesh, configName: options.configName, logger }, scope),
  })
  const rootCertificate = new RefusableStep({
    ...options,
    kind: 'MeshRootCertificate',
    run: (scope) => ensureMeshRootCertificate(api, mesh, scope),
  })
  const runMeshConfig = (scope: AbortSignal): Promise<void> => meshConfig.run(scope)
  const definitions = keptDefinitions({ ...options, meshConfig: () => (started ? runMeshConfig : undefined) })
  const reconciler = new Reconciler({ ...options, objects: [...definitions, ...webhooks] })
  const step = <T>(name: string, run: (scope: AbortSignal) => Promise<T>): Promise<T> => persist(name, run, options)

  await step('CustomResourceDefinitions', (scope) => bringInDefinitions(reconciler, definitions, options, scope))
  await step('MeshConfig', runMeshConfig)
  if (options.enableMeshRootCertificate) {
    await step('MeshRootCertificate', (scope) => rootCertificate.run(scope))
  }
  await step('certificate authority', () => ensureRoots(options))
  const roots = new RootFollower({
    ...options,
    namespace: mesh.osmNamespace,
    bundle,
    onChange: () => reconciler.renew(webhooks),
  })
  await roots.start(signal)
  await step('webhook configurations', async (scope) => {
    const { roots: trusted, since } = await currentCaBundles(api, webhooks, scope)
    bundle.resume(trusted, since)
    for (const webhook of webhooks) await reconciler.write(webhook, scope)
  })
  roots.schedule()
  started = true
  options.onReady()
  logger.info({ mesh: mesh.meshName, reconciler: enableReconciler }, 'the cluster has what the mesh needs')
  await Promise.all([
    reconciler.run(signal),
    meshConfig.follow(signal),
    rootCertificate.follow(signal),
    ...(enableReconciler ? [reconciler.watch(signal)] : []),
  ])
}

/** Makes the roots of control plane and workloads unless they are there, and reads them to be sure that they can be used. */
async function ensureRoots({
  api,
  webhooks: { mesh },
  caBundleSecretName,
  clock,
  signal,
}: BootstrapOptions): Promise<void> {
  const store = new SecretCaStore({
    api,
    namespace: mesh.osmNamespace,
    secretName: caBundleSecretName,
    labels: meshLabels(mesh, 'osm-bootstrap'),
    signal,
  })
  const provider = await TresorProvider.open({ store, clock, rootKey: { algorithm: 'ECDSA' } })
  provider.close()
}

/** Both webhook configurations. */
function keptWebhooks({ api, settings, reconcile, trust, extent }: KeptWebhooksOptions): readonly KeptObject[] {
  const kinds: readonly WebhookKind[] = ['mutating', 'validating']
  return kinds.map((kind) => ({
    type: webhookType(kind),
    name: webhookConfigurationName(kind, settings),
    fingerprint: webhookFingerprint,
    write: (signal) =>
      writeWebhookConfiguration(api, { kind, settings, trust: trust(), reconcile, extent: extent() }, signal),
  }))
}

/**
 * Makes the MeshRootCertificate from the preset if there is none of its name. What is there belongs to the user: it says who
 * signs, and nothing in it has a default that could be new.
 *
 * @throws KubernetesError, or OsmError with a code of `OSM_BOOTSTRAP_*`
 */
async function ensureMeshRootCertificate(api: KubernetesApi, mesh: MeshIdentity, signal: AbortSignal): Promise<void> {
  const namespace = mesh.osmNamespace
  if ((await api.get(type, { namespace, name: NAME }, signal)) !== undefined) return
  const spec = await readPreset(api, namespace, PRESET, signal)
  const metadata = { name: NAME, namespace, labels: meshLabels(mesh, 'osm-bootstrap') }
  try {
    await api.create(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata, spec }, { signal })
  } catch (error) {
    // Another replica was faster.
    if (!isKubernetesError(error) || !error.conflict) throw error
  }
}
