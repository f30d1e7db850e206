import { isOsmError } from '@osm-ts/driver-api'
import { type Command, Option } from 'commander'

import type { CliContext } from '../cli-context.js'
import { clusterDebugApi } from '../kubernetes/cluster-debug.js'
import { clusterFlagsOf, type ClusterFlags } from '../kubernetes/cluster-options.js'
import { openCluster, type Cluster } from '../kubernetes/open-cluster.js'
import { debugApi, type DebugApi } from '../state/debug-api.js'
import { nearestState, type FoundMesh, findMesh, isAlive } from '../state/find-mesh.js'
import type { CommandHost } from './cli-command.js'

/** Options of commands that speak of a running mesh, wherever it runs. */
export interface MeshSourceFlags extends StateFlags {
  readonly namespace?: string
}

/** Where a running mesh is checked. */
export type MeshSource =
  | { readonly kind: 'local'; readonly mesh: FoundMesh }
  | { readonly kind: 'cluster'; readonly cluster: Cluster; readonly namespace: string | undefined }

/** What is said about the choice, below the help of each such command with the option of {@link namespaceOption}. */
export const meshSourceHelp = helpOfChoice('--namespace or a cluster option')

/** The same for the others. */
export const meshSourceHelpByCluster = helpOfChoice('a cluster option')

function helpOfChoice(options: string): string {
  return `
With ${options}, the command uses a mesh on Kubernetes. Otherwise it uses the mesh that runs on
this machine, or the cluster of the kubeconfig if there is none.`
}

/** Options of commands that speak of a running mesh. */
export interface StateFlags {
  readonly state?: string
}

/** The `--state` option. */
export function stateOption(): Option {
  return new Option('--state <folder>', 'state folder of the mesh (default: the nearest .osm-standalone, upwards)')
}

/** The mesh that the options speak of. */
export function meshOf({ cwd }: Pick<CliContext, 'cwd'>, { state }: StateFlags): FoundMesh {
  return findMesh({ state, cwd, isAlive })
}

/** The `--namespace` option. */
export function namespaceOption(): Option {
  return new Option('-n, --namespace <namespace>', 'namespace of the pods, for a mesh on Kubernetes')
}

/**
 * The mesh that the options speak of.
 *
 * @throws OsmError `OSM_CLI_MESH_MISSING` if there is none anywhere
 */
export async function meshSourceOf(host: CommandHost, flags: MeshSourceFlags, command: Command): Promise<MeshSource> {
  const ofCluster = clusterFlagsOf(command)
  const { namespace } = flags
  if (namespace !== undefined || namesCluster(ofCluster)) {
    if (flags.state !== undefined)
      command.error(
        'error: --state selects a mesh on this machine and cannot be combined with options for a mesh on Kubernetes',
      )
    return { kind: 'cluster', cluster: await openCluster(host, ofCluster), namespace }
  }
  const isLocal = flags.state !== undefined || nearestState(host.context.cwd) !== undefined
  const cluster = isLocal ? undefined : await clusterIfAny(host, ofCluster)
  // Without either, finding none on this machine is the error that says what to do.
  return cluster === undefined
    ? { kind: 'local', mesh: meshOf(host.context, flags) }
    : { kind: 'cluster', cluster, namespace: undefined }
}

/** What the mesh tells of itself. */
export async function debugApiOf(source: MeshSource, signal: AbortSignal): Promise<DebugApi> {
  if (source.kind === 'local') return debugApi(source.mesh.controllerUrl, signal)
  const api = await clusterDebugApi(source.cluster)
  const { namespace } = source
  if (namespace === undefined) return api
  const isThere = ({ name }: { readonly name: string }): boolean => name.startsWith(`${namespace}/`)
  return {
    ...api,
    statuses: async () => (await api.statuses()).filter(isThere),
    participation: async () => {
      const { proxies, endpointsWithoutProxy } = await api.participation()
      return {
        proxies: proxies.filter(isThere),
        endpointsWithoutProxy: endpointsWithoutProxy.filter(({ service }) => service.namespace === namespace),
      }
    },
  }
}

function namesCluster({ kubeconfig, context, osmNamespace }: ClusterFlags): boolean {
  return [kubeconfig, context, osmNamespace].some((given) => given !== undefined)
}

async function clusterIfAny(host: CommandHost, flags: ClusterFlags): Promise<Cluster | undefined> {
  try {
    return await openCluster(host, flags)
  } catch (error) {
    if (isOsmError(error, 'OSM_KUBERNETES_CONFIG')) return undefined
    throw error
  }
}
