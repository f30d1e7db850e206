import { connect } from 'node:tls'

import { type MachineGrant, machinePaths, newJoinToken } from '@osm-ts/core'
import { isRecord } from '@osm-ts/driver-api/toolkit'
import { resourceTypes, SecretTokenStore } from '@osm-ts/kubernetes'

import { cliError } from '../errors.js'
import { podsOfProgram, theControlPlane } from '../kubernetes/control-planes.js'
import type { Cluster } from '../kubernetes/open-cluster.js'
import { httpGet } from '../state/http-get.js'
import type { MadeToken } from './make-token.js'

/** A token for a mesh on Kubernetes, and where machines use it. */
export interface MadeClusterToken extends MadeToken {
  /** URL of the control plane. */
  readonly controlPlane: string
}

/** Name of the Service by which machines reach the control plane. */
const SERVICE = 'osm-machines'
/** Flag of the controller: the port that machines join by. */
const PORT_FLAG = 'machine-port'

/**
 * Makes a token for a mesh on Kubernetes, and stores what is kept of it in a Secret of the control plane's namespace.
 *
 * @throws OsmError `OSM_CLI_MACHINES` if machines cannot join; KubernetesError
 */
export async function makeClusterToken(
  cluster: Cluster,
  grant: MachineGrant,
  ttlMs: number,
): Promise<MadeClusterToken> {
  const { meshName, namespace, port } = await joinedBy(cluster)
  const root = await rootOf(cluster, namespace, port)
  const expiresAt = Date.now() + ttlMs
  const { text, stored } = newJoinToken(grant, { root, expiresAt })
  const { api, signal } = cluster
  await new SecretTokenStore({ api, meshName, namespace, now: () => Date.now(), signal }).add(stored)
  return { text, id: stored.id, expiresAt, controlPlane: `https://${await addressOf(cluster, namespace)}:${port}` }
}

/**
 * The root by which machines verify the control plane of a mesh on Kubernetes, in PEM.
 *
 * @throws OsmError `OSM_CLI_MACHINES` if machines cannot join; KubernetesError
 */
export async function clusterRoot(cluster: Cluster): Promise<string> {
  const { namespace, port } = await joinedBy(cluster)
  return rootOf(cluster, namespace, port)
}

/** The mesh, and the port that machines join by. */
async function joinedBy(
  cluster: Cluster,
): Promise<{ readonly meshName: string; readonly namespace: string; readonly port: number }> {
  const { meshName, namespace, flags } = await theControlPlane(cluster)
  const port = Number(flags[PORT_FLAG] ?? 0)
  if (port !== 0) return { meshName, namespace, port }
  throw cliError(
    'OSM_CLI_MACHINES',
    `machines cannot join the mesh ${meshName}`,
    'set osm.machines.enable: true in the values of the chart',
  )
}

/** The root of the control plane, as a controller tells it to machines. The API server vouches for the pod, as it does for a port-forward of kubectl. */
async function rootOf(cluster: Cluster, namespace: string, port: number): Promise<string> {
  const { signal } = cluster
  const [pod] = await podsOfProgram(cluster, namespace, 'osm-controller')
  if (pod?.ready !== true)
    throw cliError(
      'OSM_CLI_MACHINES',
      `no osm-controller is ready in namespace ${namespace}`,
      'run osm verify control-plane',
    )
  const inner = await cluster.connectToPod(pod, port, signal)
  try {
    // Nothing but the path through the API server says who is there: no root is known yet.
    const connection = connect({ socket: inner, rejectUnauthorized: false })
    const { body } = await httpGet(`http://localhost${machinePaths.trust}`, { signal, connection })
    const answer: unknown = JSON.parse(body)
    const roots = isRecord(answer) && Array.isArray(answer['trustBundle']) ? answer['trustBundle'] : []
    const [root] = roots.filter((pem: unknown) => typeof pem === 'string')
    if (root !== undefined) return root
  } finally {
    inner.destroy()
  }
  throw cliError(
    'OSM_CLI_MACHINES',
    `${pod.namespace}/${pod.name} names no root of the control plane`,
    'look at its log',
  )
}

/** Where machines reach the Service: its load balancer, or its address in the cluster. */
async function addressOf({ api, signal }: Cluster, namespace: string): Promise<string> {
  const service = await api.get(resourceTypes.Service, { namespace, name: SERVICE }, signal)
  const spec = service?.['spec']
  const status = service?.['status']
  const balancer = isRecord(status) ? status['loadBalancer'] : undefined
  const ingress = isRecord(balancer) && Array.isArray(balancer['ingress']) ? balancer['ingress'] : []
  const [first] = ingress.filter(isRecord)
  const found = first?.['ip'] ?? first?.['hostname'] ?? (isRecord(spec) ? spec['clusterIP'] : undefined)
  const address = typeof found === 'string' ? found : `${SERVICE}.${namespace}`
  return address.includes(':') ? `[${address}]` : address
}
