import { ownerMark, parseOwnerMark, type Owner } from './owner.js'

/** Number of networks that one process may have at a time: one letter or digit each. */
export const maxNetworksPerProcess = 36

/** The protocol number of our routes, in the range that is free for local use; `ip route` shows it. */
export const routeProtocol = '214'

/** The names that a mesh network goes by on the host. */
export interface MeshNames {
  /** Network namespace that holds the bridge. Those of workloads are called `<switch>.<workload>`. */
  readonly switchNamespace: string
  /** Network interface of the host. */
  readonly hostLink: string
}

/** The names of the network with this number. */
export function meshNames(owner: Owner, number: number): MeshNames {
  const suffix = `${ownerMark(owner)}-${number.toString(36)}`
  return { switchNamespace: `osm-ts-${suffix}`, hostLink: `osm-${suffix}` }
}

/** The network namespace of a workload. */
export function workloadNamespace({ switchNamespace }: MeshNames, workload: string): string {
  return `${switchNamespace}.${workload}`
}

/** What the name of a network namespace tells. */
export interface ParsedNamespace {
  readonly owner: Owner
  readonly names: MeshNames
  /** True for the namespace of the bridge, false for that of a workload. */
  readonly isSwitch: boolean
}

/** Reads the name of a network namespace back; undefined when it is not one of ours. */
export function parseNamespace(name: string): ParsedNamespace | undefined {
  const [, mark = '', number = '', workload] = /^osm-ts-([0-9a-z]+)-([0-9a-z])(\..+)?$/.exec(name) ?? []
  const owner = parseOwnerMark(mark)
  return owner && { owner, names: meshNames(owner, Number.parseInt(number, 36)), isSwitch: workload === undefined }
}
