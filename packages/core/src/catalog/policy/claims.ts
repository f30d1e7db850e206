import type { MeshService } from '@osm-ts/driver-api'

import { isAddress } from '../../spec/addresses.js'
import { deepEqual, defineQuery, type QueryContext } from '../incremental/index.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import { endpointsOfService, indexInputs } from '../inputs/inputs.js'
import { compareText, nameKey, servicePortKey, sortedUnique, uniqueNames, type ServicePortRef } from './keys.js'
import { calledService, podServices, serviceModel } from './services.js'

/** An address that several services claim on one port. */
export interface ContestedAddress {
  readonly address: string
  readonly owner: MeshService
  readonly losers: readonly MeshService[]
}

/**
 * Addresses by which clients dial a service port; sorted. Those of a headless service are its endpoints'; an instance with a host name claims its own,
 * and the service only those that no instance claims. Workloads without interception are dialled elsewhere and claim nothing.
 */
export const claimedAddresses = defineQuery<CatalogState, ServicePortRef, readonly string[]>({
  name: 'claimed-addresses',
  keyOf: servicePortKey,
  equal: deepEqual,
  compute: (context, { namespace, name, port }) => {
    const { parent, hostname } = calledService({ namespace, name })
    const model = context.get(serviceModel, parent)
    if (model === undefined) return []
    if (!model.headless) return hostname === undefined ? model.addresses : []
    const endpoints = context.get(endpointsOfService, parent).items
    return sortedUnique(
      endpoints
        .filter((endpoint) => endpoint.servicePort === port && endpoint.hostname === hostname)
        .filter(({ address, sidecar }) => isAddress(address) && sidecar?.mode !== 'explicit')
        .map(({ address }) => address),
    )
  },
})

/**
 * Addresses that more than one service claims on a port. The first by namespace and name holds. There are hardly ever any, so that whoever reads this
 * is seldom disturbed.
 */
export const contestedAddresses = defineQuery<CatalogState, number, readonly ContestedAddress[]>({
  name: 'contested-addresses',
  keyOf: String,
  equal: deepEqual,
  compute: (context, port) => {
    const claimants = new Map<string, MeshService[]>()
    for (const service of context
      .get(indexInputs.servicesByPort, String(port))
      .flatMap((name) => withInstances(context, name)))
      for (const address of context.get(claimedAddresses, { ...service, port }))
        claimants.set(address, [...(claimants.get(address) ?? []), service])
    return [...claimants]
      .filter(([, services]) => services.length > 1)
      .sort(([a], [b]) => compareText(a, b))
      .flatMap(([address, services]) => {
        const [owner, ...losers] = uniqueNames(services)
        return owner === undefined ? [] : [{ address, owner, losers }]
      })
  },
})

/** Addresses that select a service port in transparent mode, without those that another service holds; sorted. */
export function ownedAddresses(
  context: QueryContext<CatalogState>,
  service: MeshService,
  port: number,
): readonly string[] {
  const claimed = context.get(claimedAddresses, { ...service, port })
  if (claimed.length === 0) return claimed
  const lost = context
    .get(contestedAddresses, port)
    .filter(({ owner }) => nameKey(owner) !== nameKey(service))
    .map(({ address }) => address)
  return claimed.filter((address) => !lost.includes(address))
}

/** The service, then each of its instances that can be called by a name of its own. */
export function withInstances(context: QueryContext<CatalogState>, service: MeshService): readonly MeshService[] {
  const instances = context.get(podServices, service)
  return [service, ...instances.map(({ hostname }) => ({ ...service, name: `${hostname}.${service.name}` }))]
}
