import { countErrorCodes, Metrics, systemClock } from '@osm-ts/core'
import { onAbort } from '@osm-ts/driver-api/toolkit'
import {
  buildVersion,
  connectProgram,
  dashboardLimits,
  healthLimits,
  healthServer,
  listen,
  type Program,
  type ProgramContext,
} from '@osm-ts/program'

import { loadCluster } from '../../kubernetes/load-cluster.js'
import type { WatchedMesh } from '../mesh-watch.js'
import { readPageFiles } from '../page-files.js'
import { prometheusTraffic } from '../prometheus-traffic.js'
import type { ReadTraffic } from '../traffic-rates.js'
import { ControllerPages } from './controller-pages.js'
import { dashboardFlags, type DashboardFlags, parseDashboardFlags } from './dashboard-flags.js'
import { PageAccess } from './page-access.js'
import { pageCredentials } from './page-credential.js'
import { type PageServer, pageServer } from './page-server.js'

const NAME = 'osm-dashboard'

/**
 * osm-dashboard: the page of `osm dashboard` as a Deployment.
 *
 * @param programFolder - where the program lies, and the files of the page beside it
 */
export function dashboardProgram(programFolder: string): Program<DashboardFlags> {
  return {
    name: NAME,
    podNameVariable: 'DASHBOARD_POD_NAME',
    definitions: dashboardFlags,
    parse: parseDashboardFlags,
    main: (context) => main(context, programFolder),
  }
}

async function main(
  { flags, logger, signal, environment }: ProgramContext<DashboardFlags>,
  programFolder: string,
): Promise<undefined> {
  const { meshName, osmNamespace, osmConfigName } = flags
  const api = await connectProgram(NAME, { flags, environment })
  const metrics = new Metrics()
  countErrorCodes(logger, metrics)
  metrics.collectProcessMetrics()
  let served: PageServer | undefined
  const health = healthServer({
    alive: async () => true,
    ready: async () => served !== undefined && !signal.aborted,
    metrics: () => metrics.render(),
    version: buildVersion(flags.osmVersion),
  })
  const monotonic = (): number => performance.now()
  const controllers = new ControllerPages({
    api,
    osmNamespace,
    trustDomain: flags.trustDomain,
    port: flags.controllerPort,
    webhookConfig: flags.validatorWebhookConfig,
    tokenFile: flags.controllerTokenFile,
    monotonic,
    signal,
  })
  const plane = {
    meshName,
    namespace: osmNamespace,
    version: flags.osmVersion,
    release: meshName,
    flags: {
      'osm-config-name': osmConfigName,
      'trust-domain': flags.trustDomain,
      'cluster-domain': flags.clusterDomain,
    },
  }
  const watched: WatchedMesh = {
    // Its account may not look for other control planes.
    load: ({ change }) => loadCluster({ api, signal }, plane, change, async () => undefined),
    openApi: () => controllers.open(),
    policy: async (proxy) => (await controllers.open()).policy(proxy),
    traffic: flags.prometheusUrl === '' ? async () => [] : laterTraffic(new URL(flags.prometheusUrl), signal),
    cwd: '/',
    mesh: { title: `control plane in namespace ${osmNamespace}`, version: flags.osmVersion },
    now: () => systemClock.now(),
  }
  const access = new PageAccess({
    api,
    audience: flags.audience,
    permission: {
      verb: 'get',
      group: 'config.openservicemesh.io',
      resource: 'meshconfigs',
      subresource: 'dashboard',
      namespace: osmNamespace,
      name: osmConfigName,
    },
    monotonic,
  })
  try {
    const address = { host: flags.bindAddress, port: flags.healthPort }
    const healthPort = await listen(health, address, { name: 'health', limits: healthLimits, metrics, logger })
    logger.info({ healthPort }, 'serving health')
    const files = await readPageFiles(programFolder)
    for await (const credential of pageCredentials({ controllers, clock: systemClock, logger, signal })) {
      if (served !== undefined) {
        served.renew(credential)
        continue
      }
      const content = { watched, files, signal }
      const server = pageServer({ ...content, access, audience: flags.audience, credential, logger })
      const limits = { name: 'dashboard', limits: dashboardLimits, metrics, logger }
      const pagePort = await listen(server.app, { host: flags.bindAddress, port: flags.pagePort }, limits)
      served = server
      onAbort(signal, () => void server.app.close())
      logger.info({ pagePort }, 'serving the page')
    }
  } finally {
    await Promise.all([served?.app.close(), served?.stopped, health.close()])
  }
  return undefined
}

/** A Prometheus that may come later than this program. */
function laterTraffic(url: URL, signal: AbortSignal): ReadTraffic {
  let opened: Awaited<ReturnType<typeof prometheusTraffic>> | undefined
  return async (proxies) => {
    opened ??= await prometheusTraffic(url, signal)
    return opened(proxies)
  }
}
