import type { KindMap } from '@osm-ts/core'
import type { MeshService } from '@osm-ts/driver-api'

import type { VirtualAddresses } from '../addresses/virtual-addresses.js'
import type { HostEntry } from '../netns/etc-folder.js'

/** An instance as names lead to it. */
export interface NamedInstance {
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly address: string
}

/** What names are made from. */
export interface NameSources {
  readonly services: readonly KindMap['Service'][]
  readonly addresses: VirtualAddresses
  readonly instances: readonly NamedInstance[]
  readonly clusterDomain: string
}

/**
 * The names that a workload of a namespace can resolve: each service by its virtual address, or by the addresses of its instances if it is headless.
 * Short names lead to services of the own namespace.
 */
export function hostEntries(namespace: string, sources: NameSources): readonly HostEntry[] {
  return sources.services.flatMap((service) => {
    const { name, namespace: home } = service.metadata
    if (service.spec.type === 'ExternalName') return []
    const names = (host: string): readonly string[] =>
      serviceAliases({ namespace: home, name: host }, sources.clusterDomain, home === namespace)
    if (service.spec.clusterIP === 'None') {
      return selected(service, sources.instances).flatMap((instance) => [
        { address: instance.address, names: names(name) },
        { address: instance.address, names: names(`${instance.name}.${name}`) },
      ])
    }
    const key = `${home}/${name}`
    const address = Object.hasOwn(sources.addresses, key) ? sources.addresses[key] : undefined
    return address === undefined ? [] : [{ address, names: names(name) }]
  })
}

/**
 * Names of a service: `name.ns`, `name.ns.svc` and one label of the cluster domain more each; the longest first, which reverse look-ups then give.
 *
 * @param withShort - true: also `name` alone
 */
export function serviceAliases(
  { namespace, name }: MeshService,
  clusterDomain: string,
  withShort: boolean,
): readonly string[] {
  const labels = ['svc', ...clusterDomain.split('.')]
  const full = labels.map((_, index) => [name, namespace, ...labels.slice(0, labels.length - index)].join('.'))
  return [...full, `${name}.${namespace}`, ...(withShort ? [name] : [])]
}

function selected(service: KindMap['Service'], instances: readonly NamedInstance[]): readonly NamedInstance[] {
  const selector = Object.entries(service.spec.selector ?? {})
  if (selector.length === 0) return []
  return instances.filter(
    ({ namespace, labels }) =>
      namespace === service.metadata.namespace &&
      selector.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value),
  )
}
