import { countErrorCodes, Metrics, systemClock } from '@osm-ts/core'
import { customResourceDefinitions, EventRecorder, type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import {
  buildVersion,
  connectProgram,
  healthLimits,
  healthServer,
  listen,
  type Program,
  type ProgramContext,
} from '@osm-ts/program'

import { bootstrapFlags, type BootstrapFlags, parseBootstrapFlags, webhookSettings } from './bootstrap-flags.js'
import { runBootstrap } from './run-bootstrap.js'

const POD_NAME_VARIABLE = 'BOOTSTRAP_POD_NAME'
const NAME = 'osm-bootstrap'

/** osm-bootstrap. */
export const bootstrapProgram: Program<BootstrapFlags> = {
  name: NAME,
  podNameVariable: POD_NAME_VARIABLE,
  definitions: bootstrapFlags,
  parse: parseBootstrapFlags,
  main,
}

async function main(context: ProgramContext<BootstrapFlags>): Promise<undefined> {
  const { flags, logger, signal, environment } = context
  const api = await connectProgram(NAME, { flags, environment })
  const metrics = new Metrics()
  countErrorCodes(logger, metrics)
  metrics.collectProcessMetrics()
  let ready = false
  const health = healthServer({
    alive: async () => true,
    ready: async () => ready,
    metrics: () => metrics.render(),
    version: buildVersion(flags.osmVersion),
  })
  const events = new EventRecorder({ api, component: NAME, namespace: flags.osmNamespace, clock: systemClock, logger })
  try {
    const healthPort = await listen(
      health,
      { host: flags.bindAddress, port: flags.healthPort },
      { name: 'health', limits: healthLimits, metrics, logger },
    )
    logger.info({ healthPort }, 'serving health')
    const report = await reporter(api, events, environment[POD_NAME_VARIABLE], flags.osmNamespace, signal)
    await runBootstrap({
      api,
      webhooks: webhookSettings(flags),
      definitions: customResourceDefinitions(),
      configName: flags.osmConfigName,
      caBundleSecretName: flags.caBundleSecretName,
      enableMeshRootCertificate: flags.enableMeshRootCertificate,
      enableReconciler: flags.enableReconciler,
      clock: systemClock,
      random: Math.random,
      logger,
      metrics,
      report,
      onReady: () => {
        ready = true
      },
      signal,
    })
  } finally {
    ready = false
    await health.close()
    await events.close()
  }
  return undefined
}

/** Events stand on the pod of the program; outside of a pod there are none. */
async function reporter(
  api: KubernetesApi,
  events: EventRecorder,
  podName: string | undefined,
  namespace: string,
  signal: AbortSignal,
): Promise<(reason: string, message: string) => void> {
  if (podName === undefined || podName === '') return () => undefined
  // `kubectl describe` finds events by the uid. Without it they can still be listed.
  const pod = await api.get(resourceTypes.Pod, { namespace, name: podName }, signal).catch(() => undefined)
  const uid = pod?.metadata.uid
  const object = { apiVersion: 'v1', kind: 'Pod', namespace, name: podName, ...(uid !== undefined && { uid }) }
  return (reason, message) => {
    events.record({ object, type: reason === 'Restored' ? 'Normal' : 'Warning', reason, message })
  }
}
