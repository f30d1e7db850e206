import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { objectInputs, servicesOfInstance } from '../../inputs/inputs.js'
import { accessGroupsOverlap, type IngressAccessGroup } from './ingress-access.js'
import { contradicted, openedPort, type AccessGroupRef, type OpenedPortRef } from './ingress.js'
import { nameKey, type NamespacedName } from '../parts/keys.js'
import type { PolicyProblem } from '../problems/problems.js'
import { serviceModel } from '../upstreams/services.js'
import { targetPortOf } from '../upstreams/target-port.js'

type Context = QueryContext<CatalogState>

/** Access to one instance from outside the mesh. */
interface InstanceIngress {
  readonly groups: readonly AccessGroupRef[]
  readonly problems: readonly PolicyProblem[]
}

/**
 * Callers from outside the mesh that a running instance lets in, over all services that it is behind.
 *
 * Several services may lead to one port of the instance. With interception, a caller who dials that port does not say which of them is meant, so
 * that whomever one service lets in is not let in by another one as well: the first by name has them.
 */
export const ingressOfInstance = defineQuery<CatalogState, NamespacedName, InstanceIngress>({
  name: 'ingress-of-instance',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, name) => {
    const ports = openedPorts(context, name)
    const problems = ports.flatMap(({ ref }) => context.get(openedPort, ref).problems)
    const explicit = context.get(objectInputs.WorkloadInstance, name)?.spec.mode === 'explicit'
    const held: OpenedGroups[] = []
    const heldByPort = new Map<number, OpenedGroups[]>()
    for (const port of ports) {
      const { targetPort } = port.ref
      const others = heldByPort.get(targetPort) ?? []
      const rival = explicit ? undefined : others.find((other) => meet(port, other))
      // Permissive access without an object admits every caller, whatever its service.
      const owner = rival?.groups.flatMap(({ backends }) => backends)[0]?.object
      if (rival === undefined) {
        held.push(port)
        heldByPort.set(targetPort, [...others, port])
      } else if (owner !== undefined)
        problems.push(...port.groups.flatMap(({ backends }) => backends.flatMap((each) => contradicted(each, owner))))
    }
    return { groups: held.flatMap(({ ref, groups }) => groups.map((_, group) => ({ ...ref, group }))), problems }
  },
})

interface OpenedGroups {
  readonly ref: OpenedPortRef
  readonly groups: readonly IngressAccessGroup[]
}

function openedPorts(context: Context, name: NamespacedName): readonly OpenedGroups[] {
  const instance = context.get(objectInputs.WorkloadInstance, name)
  if (instance === undefined) return []
  return context.get(servicesOfInstance, name).flatMap((service) => {
    const refs = new Map<number, OpenedPortRef>()
    for (const port of context.get(serviceModel, service)?.ports ?? []) {
      const targetPort = targetPortOf(instance, port)
      // Ports come sorted: where several lead to one target port, the lowest stands for all.
      if (targetPort !== undefined && !refs.has(targetPort))
        refs.set(targetPort, { ...service, port: port.port, targetPort })
    }
    return [...refs.values()].map((ref) => ({ ref, groups: context.get(openedPort, ref).groups }))
  })
}

/** True if some connection to the port matches both. */
function meet(a: OpenedGroups, b: OpenedGroups): boolean {
  return a.groups.some((group) => b.groups.some((other) => accessGroupsOverlap(group, other)))
}
