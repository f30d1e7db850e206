import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import { compareText } from '@osm-ts/driver-api/policy'

import { nameKey, type NamespacedName } from '../../../namespaced-name.js'

export { nameKey, parseNameKey, type NamespacedName } from '../../../namespaced-name.js'

/** A service by port number. */
export interface ServicePortRef extends MeshService {
  /** Port of the service. */
  readonly port: number
}

/** A service port as workloads of a namespace call it. */
export interface CalledPortRef extends ServicePortRef {
  /** Namespace of the callers; absent for those of which no namespace has routes of its own for the service. */
  readonly readers?: string
}

/** A service by the port of its workloads. */
export interface TargetPortRef extends MeshService {
  readonly targetPort: number
}

/** A service port as workloads of one identity serve it. */
export interface ServedPortRef extends ServicePortRef, TargetPortRef {
  readonly account: ServiceAccountRef
}

/** `<namespace>/<service>|<port>`: id of `outbound` parts. */
export function servicePortKey(ref: ServicePortRef): string {
  return `${nameKey(ref)}|${ref.port}`
}

/** Key of the queries about a called port. */
export function calledPortKey(ref: CalledPortRef): string {
  return `${servicePortKey(ref)}${readersKey(ref)}`
}

/** Text form of the callers. No namespace is called so. */
export function readersKey({ readers }: { readonly readers?: string }): string {
  return readers === undefined ? '' : `<${readers}`
}

/** `<namespace>/<service>|<targetPort>`: id of `inbound`, `upstream` and `endpoints` parts. */
export function targetPortKey(ref: TargetPortRef): string {
  return `${nameKey(ref)}|${ref.targetPort}`
}

/** Text form of the network of proxies; empty for that of the mesh. Names of networks are DNS labels. */
export function networkKey(network: string | undefined): string {
  return network === undefined ? '' : `@${network}`
}

/** Key of an `inbound` part's query. */
export function servedPortKey(ref: ServedPortRef): string {
  return `${servicePortKey(ref)}|${ref.targetPort}@${nameKey(ref.account)}`
}

/** Orders by namespace, then name. */
export function compareNames(a: NamespacedName, b: NamespacedName): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name)
}

/** True if both name the same thing. */
export function sameName(a: NamespacedName, b: NamespacedName): boolean {
  return a.namespace === b.namespace && a.name === b.name
}

/** Sorted, each text once. */
export function sortedUnique<T extends string>(items: Iterable<T>): readonly T[] {
  return [...new Set(items)].sort(compareText)
}

/** Sorted by namespace and name, each name once. */
export function uniqueNames<T extends NamespacedName>(items: Iterable<T>): readonly T[] {
  const byKey = new Map<string, T>()
  for (const item of items) byKey.set(nameKey(item), item)
  return [...byKey.values()].sort(compareNames)
}
