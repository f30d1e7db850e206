import { opensSomething } from './access.js'
import { connectionRoutes, connectsTo, isFitting } from './connection-routes.js'
import { leadsTo } from './http-routes.js'
import type { Known, Objects, Ref } from './objects.js'
import { requestRoutes } from './read-routes.js'
import { isAttached } from './request-routes.js'
import { accountsBehind, isApex, readsRequests } from './services.js'

/** Under SMI policy: true if the policy of a caller has a route to a service: it may call workloads of it, or of where splits and routes of it lead. */
export function knows(objects: Objects, from: Ref, service: Known<'Service'>): boolean {
  const open = objects.list('TrafficTarget').filter((target) => opensSomething(objects, target, from))
  const isReached = (candidate: Known<'Service'>): boolean =>
    open.some(
      ({ namespace, spec }) =>
        namespace === candidate.namespace && accountsBehind(objects, candidate).includes(spec.destination.name),
    )
  if (isReached(service)) return true
  const isSplit = objects
    .list('TrafficSplit')
    .filter((split) => isApex(split, service))
    .some(({ namespace, spec }) =>
      (spec.backends ?? []).some(({ service: name, weight }) => {
        const backend = weight < 0 ? undefined : objects.find('Service', { namespace, name })
        return backend !== undefined && isReached(backend)
      }),
    )
  const ports = service.spec.ports ?? []
  const isNear = ({ namespace }: { readonly namespace: string }): boolean =>
    namespace === service.namespace || namespace === from.namespace
  return (
    isSplit ||
    requestRoutes(objects)
      .filter((route) => isNear(route) && ports.some((port) => readsRequests(port) && isAttached(route, service, port)))
      .some((route) => leadsTo(objects, route, service.namespace, isReached)) ||
    connectionRoutes(objects)
      .filter(
        (route) =>
          isNear(route) && ports.some((port) => isFitting(route.kind, port) && isAttached(route, service, port)),
      )
      .some((route) => connectsTo(objects, route, service.namespace, isReached))
  )
}
