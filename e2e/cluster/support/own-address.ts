import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { SharedCluster } from './shared-cluster.js'

/** The address by which pods of the cluster reach this machine. */
export async function ownAddress(cluster: SharedCluster): Promise<string> {
  const socket = createSocket('udp4')
  socket.connect(9, await apiServerHost(cluster))
  await once(socket, 'connect')
  const { address } = socket.address()
  socket.close()
  return address
}

/** The address of the API server, which in a local cluster is that of its control plane. */
export async function apiServerHost(cluster: SharedCluster): Promise<string> {
  const url = await cluster.kubectl.run(['config', 'view', '--minify', '-o', 'jsonpath={.clusters[0].cluster.server}'])
  return new URL(url).hostname
}
