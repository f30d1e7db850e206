import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'

import { isRecord, onAbort } from '@osm-ts/driver-api/toolkit'
import type { ObjectName } from '@osm-ts/kubernetes'

import { cliError } from '../errors.js'
import { podState } from '../kubernetes/control-planes.js'
import type { Cluster } from '../kubernetes/open-cluster.js'

/** Add-ons of the chart: the label `app` of their pods, the name of the port of their page, and the value that installs them. */
const addOns = {
  grafana: { app: 'osm-grafana', port: 'http', value: 'osm.deployGrafana' },
  prometheus: { app: 'osm-prometheus', port: 'http', value: 'osm.deployPrometheus' },
  jaeger: { app: 'jaeger', port: 'ui', value: 'osm.deployJaeger' },
} as const

/** Name of an add-on, and of the option that opens it. */
export type AddOnName = keyof typeof addOns

export const addOnNames = Object.keys(addOns) as AddOnName[]

/** Connections at once: a browser opens six. */
const MAX_CONNECTIONS = 64

/** What of a cluster is used. */
type ForwardedCluster = Pick<Cluster, 'api' | 'connectToPod' | 'osmNamespace' | 'signal'>

/**
 * Forwards a port of the loopback interface to the page of an add-on until the signal of the cluster aborts.
 *
 * @param port - 0 lets the system choose
 * @throws OsmError `OSM_CLI_ADD_ON_MISSING` if no pod of it is ready, `OSM_CLI_DASHBOARD_PORT` if the port is in use
 */
export async function forwardAddOn(
  cluster: ForwardedCluster,
  name: AddOnName,
  port: number,
): Promise<{ readonly url: string; readonly closed: Promise<void> }> {
  // Missing ones are reported before anything is opened; each connection looks again, since pods are replaced.
  await findAddOn(cluster, name)
  const server = createServer({ allowHalfOpen: true }, (socket) => void forward(cluster, name, socket))
  server.maxConnections = MAX_CONNECTIONS
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  } catch (error) {
    throw cliError(
      'OSM_CLI_DASHBOARD_PORT',
      `port ${port} of 127.0.0.1 is not available`,
      'choose another with --local-port, or any with --local-port 0',
      error,
    )
  }
  const closed = once(server, 'close').then(() => undefined)
  onAbort(cluster.signal, () => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, closed }
}

/** A connection that breaks is the browser's to open again. */
async function forward(cluster: ForwardedCluster, name: AddOnName, socket: Socket): Promise<void> {
  try {
    const { pod, port } = await findAddOn(cluster, name)
    const inside = await cluster.connectToPod(pod, port, cluster.signal)
    await Promise.all([pipeline(socket, inside), pipeline(inside, socket)])
  } catch {
    socket.destroy()
  }
}

async function findAddOn(
  { api, osmNamespace: namespace, signal }: ForwardedCluster,
  name: AddOnName,
): Promise<{ readonly pod: ObjectName; readonly port: number }> {
  const { listAll, resourceTypes } = await import('@osm-ts/kubernetes')
  const { app, port: portName, value } = addOns[name]
  const pods = await listAll(api, resourceTypes.Pod, { namespace, labelSelector: `app=${app}` }, signal)
  for (const pod of pods) {
    const port = portNamed(pod['spec'], portName)
    if (podState(pod).ready && port !== undefined) return { pod: podState(pod), port }
  }
  throw cliError(
    'OSM_CLI_ADD_ON_MISSING',
    `no pod of ${app} is ready in namespace ${namespace}`,
    pods.length === 0
      ? `install it with --set ${value}=true, or open your own`
      : `see kubectl describe pods --namespace ${namespace} --selector app=${app}`,
  )
}

function portNamed(spec: unknown, name: string): number | undefined {
  const containers = isRecord(spec) && Array.isArray(spec['containers']) ? spec['containers'] : []
  const ports = containers.flatMap((container: unknown): unknown[] =>
    isRecord(container) && Array.isArray(container['ports']) ? container['ports'] : [],
  )
  const found = ports.filter(isRecord).find((port) => port['name'] === name)?.['containerPort']
  return typeof found === 'number' ? found : undefined
}
