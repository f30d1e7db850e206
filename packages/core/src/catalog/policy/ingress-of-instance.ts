import { deepEqual, defineQuery, type QueryContext } from '../incremental/index.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import { objectInputs, servicesOfInstance } from '../inputs/inputs.js'
import { doorsMeet, type Door } from './doors.js'
import { contradicted, openedPort, type DoorRef, type OpenedPortRef } from './ingress.js'
import { nameKey, type NamespacedName } from './keys.js'
import type { PolicyProblem } from './problems.js'
import { serviceModel } from './services.js'
import { targetPortOf } from './target-port.js'

type Context = QueryContext<CatalogState>

/** Doors of one instance. */
interface InstanceIngress {
  readonly doors: readonly DoorRef[]
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
    const held: OpenDoors[] = []
    for (const port of ports) {
      const rival = explicit ? undefined : held.find((other) => meet(port, other))?.doors[0]?.backends[0]
      if (rival === undefined) held.push(port)
      else
        problems.push(
          ...port.doors.flatMap(({ backends }) => backends.flatMap((each) => contradicted(each, rival.object))),
        )
    }
    return { doors: held.flatMap(({ ref, doors }) => doors.map((_, door) => ({ ...ref, door }))), problems }
  },
})

interface OpenDoors {
  readonly ref: OpenedPortRef
  readonly doors: readonly Door[]
}

function openedPorts(context: Context, name: NamespacedName): readonly OpenDoors[] {
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
    return [...refs.values()].map((ref) => ({ ref, doors: context.get(openedPort, ref).doors }))
  })
}

function meet(a: OpenDoors, b: OpenDoors): boolean {
  if (a.ref.targetPort !== b.ref.targetPort) return false
  return a.doors.some((door) => b.doors.some((other) => doorsMeet(door, other)))
}
