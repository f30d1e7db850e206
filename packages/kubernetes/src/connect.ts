import type { Duplex } from 'node:stream'

import type { KubernetesApi, ObjectName } from './api.js'
import type { ClusterAccess } from './client/cluster-access.js'
import { InClusterAccess, isInCluster, type Environment } from './client/in-cluster-access.js'
import { KubeconfigAccess } from './client/kubeconfig-access.js'
import { connectToPod } from './client/pod-connection.js'
import { RestApi } from './client/rest-api.js'
import { Transport } from './client/transport.js'

/** How to reach the API server. */
export interface ConnectOptions {
  /** A kubeconfig file. Absent: the service account of the pod if there is one, otherwise where kubectl looks. */
  readonly kubeconfig?: string | undefined
  /** `user-agent` of every request, such as `osm-controller/v1.2.0`; is in audit logs. */
  readonly userAgent: string
  /**
   * The environment of the process. With it a program in a pod is spared the kubeconfig library (25 MB of heap), because
   * the service account of a pod needs none of it.
   */
  readonly environment?: Environment
}

/**
 * The API server that a program is to speak to. Nothing is asked of it yet.
 *
 * @throws KubernetesError with code `OSM_KUBERNETES_CONFIG`
 */
export async function connectKubernetes(options: ConnectOptions): Promise<KubernetesApi> {
  return openKubernetes(await accessOf(options), options.userAgent)
}

/** A cluster as somebody sees it who is not in it. */
export interface ClusterConnection {
  readonly api: KubernetesApi
  /** URL of the API server. */
  readonly server: string
  /**
   * A connection to a port inside a pod, as `kubectl port-forward` makes them.
   *
   * @throws KubernetesError
   */
  connectToPod(pod: ObjectName, port: number, signal: AbortSignal): Promise<Duplex>
}

/**
 * The cluster of a kubeconfig, and of a context in it. Nothing is asked of it yet.
 *
 * @throws KubernetesError with code `OSM_KUBERNETES_CONFIG`
 */
export async function connectCluster({
  kubeconfig,
  context,
  userAgent,
}: Omit<ConnectOptions, 'environment'> & { readonly context?: string | undefined }): Promise<ClusterConnection> {
  const transport = await transportOf(await KubeconfigAccess.open({ path: kubeconfig, context }), userAgent)
  const api = new RestApi(transport)
  return {
    api,
    server: transport.server,
    connectToPod: (pod, port, signal) => connectToPod({ transport, api }, pod, port, signal),
  }
}

/** The API server at a given place with given credentials. */
export async function openKubernetes(access: ClusterAccess, userAgent: string): Promise<KubernetesApi> {
  return new RestApi(await transportOf(access, userAgent))
}

async function transportOf(access: ClusterAccess, userAgent: string): Promise<Transport> {
  // Loaded when it is needed: most commands of the CLI never speak to an API server.
  return new Transport(access, userAgent, await import('./client/undici-library.js'))
}

async function accessOf({ kubeconfig, environment }: ConnectOptions): Promise<ClusterAccess> {
  if (kubeconfig === undefined && environment !== undefined && isInCluster(environment)) {
    return new InClusterAccess({ environment, monotonic: () => performance.now() })
  }
  return KubeconfigAccess.open({ path: kubeconfig })
}
