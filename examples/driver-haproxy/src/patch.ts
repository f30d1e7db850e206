import { type InjectorContext, OsmError, type SidecarPatch } from '@osm-ts/driver-api'
import type { SocketAddress } from '@osm-ts/driver-api/policy'
import { interceptionNeeds, PROXY_UID, sidecarPorts, workloadEnvironment } from '@osm-ts/driver-api/toolkit'

import { METRICS_PATH, READY_PATH } from './translate/translate.js'

const READY_PERIOD_MS = 500
/** Time for endpoints of a workload that ends to disappear from its callers. */
const MIN_DRAIN_MS = 5_000
/** After that what is open is cut. */
const MAX_DRAIN_MS = 15_000

const files = { certificate: 'sidecar.crt', privateKey: 'sidecar.key', roots: 'roots.crt' } as const

/** Says what must be beside a workload so that HAProxy is its sidecar. */
export async function patch(context: InjectorContext): Promise<SidecarPatch> {
  const { podOS, listen, controlPlane, sidecarImage, resources } = context
  if (podOS !== 'linux') throw new OsmError('OSM_DRIVER_PATCH', `HAProxy runs on linux; the workload runs on ${podOS}`)
  const { admin, metrics } = listen
  if (admin === undefined)
    throw new OsmError('OSM_DRIVER_PATCH', 'the host gave the proxy no address for its administration interface')
  // HAProxy asks the kernel for the original destination of IPv4 connections only: what it can't see must not bypass it.
  const interception = interceptionNeeds(context, false)
  const file = (path: string) => [{ ref: 'file', path } as const]
  return {
    sidecar: {
      image: sidecarImage,
      binary: 'osm-haproxy-sidecar',
      args: [],
      env: [
        { name: 'OSM_HAPROXY_SERVER_ADDRESS', value: controlPlane.address },
        { name: 'OSM_HAPROXY_SERVER_PORT', value: String(controlPlane.port) },
        { name: 'OSM_HAPROXY_SERVER_NAME', value: controlPlane.serverName },
        { name: 'OSM_HAPROXY_CERTIFICATE', value: file(files.certificate) },
        { name: 'OSM_HAPROXY_KEY', value: file(files.privateKey) },
        { name: 'OSM_HAPROXY_ROOTS', value: file(files.roots) },
        ...workloadEnvironment(),
      ],
      ports: sidecarPorts(listen),
      resources,
      security: { runAsUser: PROXY_UID, readOnlyRootFilesystem: true },
    },
    files: [
      { path: files.certificate, content: { from: 'bootstrap.chain' } },
      { path: files.privateKey, content: { from: 'bootstrap.key' } },
      { path: files.roots, content: { from: 'trustBundle' } },
    ],
    // HAProxy is started by the first configuration.
    ready: { http: { port: readyPort(context, admin), path: READY_PATH, status: 200 }, periodMs: READY_PERIOD_MS },
    drain: { action: { kind: 'signal', signal: 'SIGUSR1' }, minMs: MIN_DRAIN_MS, maxMs: MAX_DRAIN_MS },
    quit: { kind: 'signal', signal: 'SIGTERM' },
    metrics: { port: (metrics ?? admin).port, path: METRICS_PATH },
    admin: { port: admin.port },
    ...(interception === undefined ? {} : { interception }),
    annotations: {},
    initContainers: [],
    // Configuration and keys; nothing else may be written to.
    volumes: [{ name: 'haproxy-config', mountPath: '/tmp', sizeLimit: '64Mi' }],
  }
}

/** A kubelet can't reach the loopback address of a pod. The listener of metrics is opened by the first configuration as well. */
function readyPort({ interceptionMode, listen }: InjectorContext, admin: SocketAddress): number {
  if (interceptionMode === 'none') return admin.port
  if (listen.metrics === undefined)
    throw new OsmError(
      'OSM_DRIVER_PATCH',
      'the host gave the proxy no address for metrics, by which a kubelet asks whether it is ready',
    )
  return listen.metrics.port
}
