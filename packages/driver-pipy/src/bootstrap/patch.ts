import {
  type EnvironmentVariable,
  type InjectorContext,
  OsmError,
  type SidecarFile,
  type SidecarPatch,
  type Value,
} from '@osm-ts/driver-api'
import type { SocketAddress } from '@osm-ts/driver-api/policy'
import {
  interceptionNeeds,
  PROXY_UID,
  sidecarIdentity,
  sidecarPorts,
  workloadEnvironment,
} from '@osm-ts/driver-api/toolkit'

import { codebasePath } from '../server/request-target.js'
import { initWrapper } from './init-wrapper.js'

/** How often the sidecar is asked whether it is ready. */
const READY_PERIOD_MS = 1_000

/** Time for endpoints of a workload that ends to disappear from its callers. */
const MIN_DRAIN_MS = 5_000
/** After that what is open is cut. */
const MAX_DRAIN_MS = 15_000

const METRICS_PATH = '/stats/prometheus'

const files = {
  certificate: 'sidecar.crt',
  privateKey: 'sidecar.key',
  roots: 'roots.crt',
  lastRoot: 'last-root.crt',
} as const

/** Levels of Pipy's log by those of MeshConfig. */
const LOG_LEVELS: Readonly<Record<string, string>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warning: 'warn',
  error: 'error',
  critical: 'error',
  off: 'error',
}

/** Says what must be beside a workload so that Pipy is its sidecar. */
export async function patch(context: InjectorContext): Promise<SidecarPatch> {
  if (context.podOS !== 'linux')
    throw new OsmError('OSM_DRIVER_PATCH', `Pipy runs on linux; the workload runs on ${context.podOS}`)
  const { admin, metrics } = context.listen
  if (admin === undefined)
    throw new OsmError('OSM_DRIVER_PATCH', 'the host gave the proxy no address for its administration interface')
  // Pipy asks the kernel for the original destination of IPv4 connections only: what it can't see must not bypass it.
  const interception = interceptionNeeds(context, false)
  return {
    sidecar: {
      image: context.sidecarImage,
      binary: 'pipy',
      initWrapper,
      args: args(context),
      env: environment(context, admin),
      ports: sidecarPorts(context.listen),
      resources: context.resources,
      security: { runAsUser: PROXY_UID, readOnlyRootFilesystem: true },
    },
    files: sidecarFiles(),
    ready: { http: readyRequest(context, admin), periodMs: READY_PERIOD_MS },
    drain: {
      // What signals there are end Pipy at once, or what waits for a promise.
      action: { kind: 'http', method: 'POST', port: admin.port, path: '/drain' },
      minMs: MIN_DRAIN_MS,
      maxMs: MAX_DRAIN_MS,
    },
    quit: { kind: 'http', method: 'POST', port: admin.port, path: '/quitquitquit' },
    ...(metrics === undefined ? {} : { metrics: { port: metrics.port, path: METRICS_PATH } }),
    admin: { port: admin.port },
    ...(interception === undefined ? {} : { interception: { ...interception, ...dnsPort(context) } }),
    annotations: {},
    initContainers: [],
    volumes: [],
  }
}

/**
 * Pipy's own administration port is not opened: it would show the configuration, keys and all, to anyone who reaches it. What needs administration has a
 * listener of the codebase, on loopback.
 */
function args(context: InjectorContext): readonly Value[] {
  const { controlPlane, proxyUUID, logLevel } = context
  const codebase = codebasePath({ uuid: proxyUUID, identity: sidecarIdentity(context) })
  return [
    `--log-level=${LOG_LEVELS[logLevel] ?? 'error'}`,
    // Names the admin link, and status reports.
    `--instance-uuid=${proxyUUID}`,
    ['--instance-name=', { ref: 'workload', field: 'instance' }],
    // The codebase shows metrics itself, under names and labels of the mesh.
    '--no-metrics',
    ['--tls-cert=', { ref: 'file', path: files.certificate }],
    ['--tls-key=', { ref: 'file', path: files.privateKey }],
    // Without it Pipy takes whatever server answers.
    ['--tls-trusted=', { ref: 'file', path: files.roots }],
    // It reads one root of a file. There are two while one takes the place of the other.
    ['--tls-trusted=', { ref: 'file', path: files.lastRoot }],
    `https://${authority(controlPlane.address, controlPlane.port)}${codebase}`,
  ]
}

function authority(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** What the codebase reads: it is the same for all sidecars. */
function environment({ controlPlane }: InjectorContext, admin: SocketAddress): readonly EnvironmentVariable[] {
  return [
    { name: 'OSM_PIPY_CHANNEL', value: authority(controlPlane.address, controlPlane.port) },
    { name: 'OSM_PIPY_SERVER_NAME', value: controlPlane.serverName },
    { name: 'OSM_PIPY_CERTIFICATE', value: [{ ref: 'file', path: files.certificate }] },
    { name: 'OSM_PIPY_KEY', value: [{ ref: 'file', path: files.privateKey }] },
    { name: 'OSM_PIPY_ROOTS', value: [{ ref: 'file', path: files.roots }] },
    { name: 'OSM_PIPY_ADMIN', value: authority(admin.address, admin.port) },
    ...workloadEnvironment(),
  ]
}

function sidecarFiles(): readonly SidecarFile[] {
  return [
    { path: files.certificate, content: { from: 'bootstrap.chain' } },
    { path: files.privateKey, content: { from: 'bootstrap.key' } },
    { path: files.roots, content: { from: 'trustBundle' } },
    { path: files.lastRoot, content: { from: 'trustBundle.last' } },
  ]
}

/** Where questions of DNS go, if the host wants them answered. */
function dnsPort({ listen }: InjectorContext): { readonly dnsPort?: number } {
  return listen.dns === undefined ? {} : { dnsPort: listen.dns.port }
}

/** A kubelet can't reach the loopback address of a pod. The listener of metrics is opened by the first configuration, so its answer means the same. */
function readyRequest({ interceptionMode, listen }: InjectorContext, admin: SocketAddress) {
  if (interceptionMode === 'none') return { port: admin.port, path: '/ready', status: 200 }
  if (listen.metrics === undefined)
    throw new OsmError(
      'OSM_DRIVER_PATCH',
      'the host gave the proxy no address for metrics, by which a kubelet asks whether it is ready',
    )
  return { port: listen.metrics.port, path: METRICS_PATH, status: 200 }
}
