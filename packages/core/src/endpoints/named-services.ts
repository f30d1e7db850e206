import type { MeshService } from '@osm-ts/driver-api'

import type { MeshConfig } from '../config/index.js'
import type { Snapshot } from '../snapshot/index.js'
import { isDnsLabel } from '../identity/index.js'
import { isMonitored, type Enrolment } from '../spec/index.js'
import { nameKey } from '../namespaced-name.js'
import { sortedNames } from './endpoint.js'

/** Services outside the mesh that objects of one namespace may name. */
export const NAMED_SERVICES_PER_NAMESPACE = 32
/** Those of all namespaces together: each is its own watch. */
export const NAMED_SERVICES_IN_ALL = 512

/** Features whose objects name Services. */
type NamingFlags = Pick<MeshConfig['featureFlags'], 'enableIngressBackendPolicy' | 'enableAccessControlPolicy'>

/** Services outside the mesh that policies name, each by namespace and name. */
export interface NamedServices {
  /** Those whose endpoints are read. */
  readonly read: readonly MeshService[]
  /** Those beyond a bound, which allow no caller. */
  readonly beyond: readonly MeshService[]
}

/**
 * Services outside the mesh whose endpoints policies need: those that an IngressBackend or AccessControl of the mesh names as a source. Objects whose
 * feature is off name none. Where there are too many in all, every namespace gets its first before another gets its second.
 */
export function namedOutsideServices(
  snapshot: Snapshot,
  { featureFlags }: { readonly featureFlags: NamingFlags },
  enrolment: Enrolment,
): NamedServices {
  const objects = [
    ...(featureFlags.enableIngressBackendPolicy ? snapshot.list('IngressBackend') : []),
    ...(featureFlags.enableAccessControlPolicy ? snapshot.list('AccessControl') : []),
  ]
  const byNamespace = new Map<string, MeshService[]>()
  for (const { metadata, spec } of objects) {
    if (!isMonitored(snapshot, metadata.namespace, enrolment)) continue
    const named = spec.sources.flatMap(({ kind, name, namespace = '' }) =>
      // What no Service can be called is requested nowhere: the name goes into a label selector.
      kind === 'Service' && isDnsLabel(namespace) && isDnsLabel(name) && !isMonitored(snapshot, namespace, enrolment)
        ? [{ namespace, name }]
        : [],
    )
    byNamespace.set(metadata.namespace, [...(byNamespace.get(metadata.namespace) ?? []), ...named])
  }
  const lists = [...byNamespace.keys()].sort().map((namespace) => sortedNames(byNamespace.get(namespace) ?? []))
  const inTurn = Array.from({ length: NAMED_SERVICES_PER_NAMESPACE }, (_, turn) =>
    lists.flatMap((services) => services.slice(turn, turn + 1)),
  ).flat()
  const read = new Map<string, MeshService>()
  for (const service of inTurn) if (read.size < NAMED_SERVICES_IN_ALL) read.set(nameKey(service), service)
  return {
    read: sortedNames(read.values()),
    beyond: sortedNames(lists.flat().filter((service) => !read.has(nameKey(service)))),
  }
}
