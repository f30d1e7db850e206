import type { ClusterConnection, ObjectName } from '@osm-ts/kubernetes'

import type { CommandHost } from '../commands/cli-command.js'
import { httpGet, type HttpAnswer } from '../state/http-get.js'
import { osmNamespaceOf, type ClusterFlags } from './cluster-options.js'

/** The cluster that a command speaks of. */
export interface Cluster extends ClusterConnection {
  /** Namespace of the control plane that is meant where nothing else says. */
  readonly osmNamespace: string
  /** Ends every request. */
  readonly signal: AbortSignal
}

/**
 * The cluster that the options name. Nothing is asked of it yet.
 *
 * @throws KubernetesError if there is no usable kubeconfig
 */
export async function openCluster(
  host: Pick<CommandHost, 'context' | 'config'>,
  flags: ClusterFlags,
): Promise<Cluster> {
  const { version, signal } = host.context
  // Most commands speak to no API server, and the library of kubeconfigs is large.
  const { connectCluster } = await import('@osm-ts/kubernetes')
  const connection = await connectCluster({
    kubeconfig: flags.kubeconfig,
    context: flags.context,
    userAgent: `osm/${version}`,
  })
  return { ...connection, osmNamespace: osmNamespaceOf(flags, host), signal }
}

/**
 * GETs a page of a server inside a pod, by port-forward. The other way through the API server, its proxy to pods, would not do: it comes from
 * outside the pod, where debug pages and administration interfaces do not answer and sidecars intercept.
 *
 * @throws KubernetesError if there is no connection; whatever breaks it later
 */
export async function getFromPod(
  { connectToPod, signal }: Pick<Cluster, 'connectToPod' | 'signal'>,
  pod: ObjectName,
  port: number,
  path: string,
): Promise<HttpAnswer> {
  const connection = await connectToPod(pod, port, signal)
  try {
    return await httpGet(`http://localhost:${port}${path}`, { signal, connection })
  } finally {
    connection.destroy()
  }
}
