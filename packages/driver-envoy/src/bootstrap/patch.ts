import { type InjectorContext, OsmError, type SidecarFile, type SidecarPatch, type Value } from '@osm-ts/driver-api'
import type { SocketAddress } from '@osm-ts/driver-api/policy'
import {
  interceptionNeeds,
  PROXY_UID,
  sidecarIdentity,
  sidecarPorts,
  workloadEnvironment,
} from '@osm-ts/driver-api/toolkit'

import { METRICS_PATH } from '../translate/telemetry/prometheus.js'
import { QUIT_PATH } from '../translate/upstreams/quit.js'
import type { BootstrapContext } from './bootstrap-config.js'
import { BootstrapTexts } from './bootstrap-texts.js'
import { drainSeconds, type EnvoyConfig, envoyConfig } from './driver-config.js'
import { READY_PATH, READY_PORT } from './ready-listener.js'
import { files } from './text-with-files.js'

/** How often the sidecar is asked whether it is ready. */
const READY_PERIOD_MS = 1_000

/** Time for endpoints of a workload that ends to disappear from its callers. */
const MIN_DRAIN_MS = 5_000

/** Makes what says what must be beside a workload so that Envoy is its sidecar. */
export function createPatch(): (context: InjectorContext) => Promise<SidecarPatch> {
  const texts = new BootstrapTexts()
  return (context) => patch(context, texts)
}

async function patch(context: InjectorContext, texts: BootstrapTexts): Promise<SidecarPatch> {
  if (context.podOS !== 'linux' && !(context.podOS === 'darwin' && context.interceptionMode === 'none')) {
    throw new OsmError(
      'OSM_DRIVER_PATCH',
      `Envoy runs on linux, and on darwin where traffic is not redirected; the workload runs on ${context.podOS}`,
    )
  }
  const { admin, metrics } = context.listen
  if (admin === undefined) {
    throw new OsmError('OSM_DRIVER_PATCH', 'the host gave the proxy no address for its administration interface')
  }
  const config = envoyConfig(context.driverConfig)
  const drain = drainSeconds(config, context.configurator.policyWithdrawalTimeoutMs)
  const interception = interceptionNeeds(context, true)
  return {
    sidecar: {
      image: context.sidecarImage,
      binary: 'envoy',
      args: args(context, config, drain),
      env: workloadEnvironment(),
      ports: sidecarPorts(context.listen),
      resources: context.resources,
      security: { runAsUser: PROXY_UID, readOnlyRootFilesystem: true },
    },
    files: sidecarFiles(context, admin, config, texts),
    // Envoy is "live" once it has the first clusters and listeners, with everything that they wait for.
    ready: {
      http:
        interception === undefined
          ? { port: admin.port, path: '/ready', status: 200 }
          : { port: READY_PORT, path: READY_PATH, status: 200 },
      periodMs: READY_PERIOD_MS,
    },
    drain: {
      action: { kind: 'http', method: 'POST', port: admin.port, path: '/drain_listeners?graceful&inboundonly' },
      minMs: MIN_DRAIN_MS,
      maxMs: MIN_DRAIN_MS + drain * 1_000,
    },
    quit: { kind: 'http', method: 'POST', port: admin.port, path: QUIT_PATH },
    ...(metrics === undefined ? {} : { metrics: { port: metrics.port, path: METRICS_PATH } }),
    admin: { port: admin.port },
    ...(interception === undefined ? {} : { interception }),
    annotations: {},
    initContainers: [],
    volumes: [],
  }
}

function args(context: InjectorContext, config: EnvoyConfig, drain: number): readonly Value[] {
  const concurrency = config.concurrency ?? (context.interceptionMode === 'none' ? 1 : 2)
  return [
    '--log-level',
    context.logLevel,
    '--config-path',
    [{ ref: 'file', path: files.bootstrap }],
    '--service-cluster',
    sidecarIdentity(context),
    // Shared memory of the machine: a second Envoy on it would not start.
    '--disable-hot-restart',
    '--concurrency',
    String(concurrency),
    '--drain-time-s',
    String(drain),
  ]
}

function sidecarFiles(
  context: InjectorContext,
  admin: SocketAddress,
  config: EnvoyConfig,
  texts: BootstrapTexts,
): readonly SidecarFile[] {
  const { sidecar } = context.configurator
  const readyAddress = context.interceptionMode === 'none' ? undefined : context.listen.inbound?.address
  const { controlPlane, proxyCommonName, locality, workloadApi } = context
  const bootstrap: BootstrapContext = {
    controlPlane,
    proxyCommonName,
    locality,
    admin,
    sidecar,
    config,
    ...(readyAddress === undefined ? {} : { readyAddress }),
    ...(workloadApi === undefined ? {} : { workloadApi }),
  }
  return [
    { path: files.bootstrap, content: { text: texts.bootstrap(bootstrap) } },
    { path: files.certificateSecret, content: { text: texts.certificateSecret() } },
    { path: files.validationSecret, content: { text: texts.validationSecret() } },
    { path: files.roots, content: { from: 'trustBundle' } },
    { path: files.certificate, content: { from: 'bootstrap.chain' } },
    { path: files.privateKey, content: { from: 'bootstrap.key' } },
  ]
}
