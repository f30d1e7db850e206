import { readdirSync } from 'node:fs'
import { ClusterError } from '../provider.js'

const longestName = 10
const parentFolder = '/var/lib'
const folderPrefix = `${parentFolder}/osm-cluster-`

/** Everything that a cluster is known by on this machine. */
export interface ClusterNames {
  readonly name: string
  /** All files of the cluster. */
  readonly folder: string
  readonly kubeconfig: string
  /** By this in its environment every process of the cluster is known, no matter who has started it. */
  readonly marker: Readonly<Record<string, string>>
  /** Control group of the nodes, in every hierarchy. */
  readonly cgroup: string
  /** Link of this machine to the control plane. */
  readonly hostLink: string
  /** Lock that keeps two commands for the same cluster apart. */
  readonly lock: string
}

/** The variable that marks processes. */
export const markerVariable = 'OSM_CLUSTER'

/** Names of the parts of a cluster. */
export function clusterNames(name: string): ClusterNames {
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name) || name.length > longestName) {
    throw new ClusterError(
      `"${name}" can't be the name of a local cluster: at most ${longestName} lower-case letters, digits and "-" within ` +
        '(it is part of the name of a network link)',
    )
  }
  const folder = `${folderPrefix}${name}`
  return {
    name,
    folder,
    kubeconfig: `${folder}/admin.kubeconfig`,
    marker: { [markerVariable]: name },
    cgroup: `osm-cluster-${name}`,
    hostLink: `osmc-${name}`,
    lock: `/run/lock/osm-cluster-${name}.lock`,
  }
}

/** Folders of all clusters of this machine. */
export function clusterFolders(): readonly string[] {
  return readdirSync(parentFolder)
    .map((name) => `${parentFolder}/${name}`)
    .filter((path) => path.startsWith(folderPrefix))
}
