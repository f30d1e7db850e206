import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import { ownValue } from '@osm-ts/driver-api/toolkit'
import { type EndpointsAnnouncement, isOfKind, type KindMap, type MeshObject, sortedNames } from '@osm-ts/core'

import type { ClusterChange } from '../source/cluster-view.js'
import type { SliceItem } from '../source/endpoint-slice.js'
import type { NamespaceChange, NamespaceScope } from '../source/namespace-scope.js'
import { podAccount, podLabels, sameEndpoint, type PodItem } from '../source/pod.js'

const nothing: EndpointsAnnouncement = Object.freeze({ services: [], accounts: [] })

/** Services and identities whose answers may differ after a change of the cluster. */
export function endpointsAffectedBy(change: ClusterChange): EndpointsAnnouncement {
  const { scope } = change
  if (change.of === 'namespace') {
    const { namespace } = scope
    return {
      services: sortedNames(scope.services().map(nameOf)),
      accounts: sortedNames(scope.pods().map((pod) => ({ namespace, name: podAccount(pod) }))),
    }
  }
  return affectedIn(scope, change.change)
}

/** Services that select one of the pods. */
export function servicesOfPods(scope: NamespaceScope, pods: readonly PodItem[]): readonly MeshService[] {
  // Replicas share their labels, which are then looked up once.
  const labels = new Set(pods.map(podLabels))
  return sortedNames([...labels].flatMap((some) => scope.servicesSelecting(some)).map(nameOf))
}

function affectedIn(scope: NamespaceScope, change: NamespaceChange): EndpointsAnnouncement {
  switch (change.of) {
    case 'pods':
      return ofPods(
        scope,
        // Pods change often in ways that are no change of an endpoint; whether they are ready is for slices to say.
        change.changes
          .filter(({ before, after }) => !before || !after || !sameEndpoint(before, after))
          .flatMap(versions),
      )
    case 'slices':
      return ofSlices(scope, change.changes.flatMap(versions))
    case 'services':
      return ofServices(
        scope,
        change.changes.flatMap(versions).flatMap(({ object }) => (isService(object) ? [object] : [])),
      )
    case 'accounts':
      return nothing
  }
}

function ofPods(scope: NamespaceScope, pods: readonly PodItem[]): EndpointsAnnouncement {
  if (pods.length === 0) return nothing
  // Any service without selector may list the pod.
  const services = [...servicesOfPods(scope, pods), ...scope.servicesWithoutSelector().map(nameOf)]
  return { services: sortedNames(services), accounts: accountsOf(scope, pods) }
}

function ofSlices(scope: NamespaceScope, slices: readonly SliceItem[]): EndpointsAnnouncement {
  const { namespace } = scope
  const listed = slices.filter(({ service }) => isListedByHand(scope, service))
  return {
    services: sortedNames(slices.map(({ service }) => ({ namespace, name: service }))),
    // Behind which services an account is, selectors say; only those without one ask the slices.
    accounts: listed.length === 0 ? [] : accountsOf(scope, scope.pods()),
  }
}

function ofServices(scope: NamespaceScope, services: readonly KindMap['Service'][]): EndpointsAnnouncement {
  const concerned = scope.pods().filter((pod) => services.some((service) => mayBeBehind(service, pod)))
  return { services: sortedNames(services.map(nameOf)), accounts: accountsOf(scope, concerned) }
}

function mayBeBehind({ spec: { selector = {} } }: KindMap['Service'], pod: PodItem): boolean {
  const labels = podLabels(pod)
  return Object.entries(selector).every(([key, value]) => ownValue(labels, key) === value)
}

function isListedByHand(scope: NamespaceScope, service: string): boolean {
  return Object.keys(scope.service(service)?.spec.selector ?? {}).length === 0
}

function accountsOf({ namespace }: NamespaceScope, pods: readonly PodItem[]): readonly ServiceAccountRef[] {
  return sortedNames(pods.map((pod) => ({ namespace, name: podAccount(pod) })))
}

function nameOf({ metadata: { namespace, name } }: KindMap['Service']): MeshService {
  return { namespace, name }
}

function isService(object: MeshObject | undefined): object is KindMap['Service'] {
  return object !== undefined && isOfKind(object, 'Service')
}

function versions<T>({ before, after }: { readonly before?: T; readonly after?: T }): readonly T[] {
  return [before, after].filter((version): version is T => version !== undefined)
}
