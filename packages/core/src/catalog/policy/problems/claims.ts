import type { MeshService } from '@osm-ts/driver-api'
import { compareText } from '@osm-ts/driver-api/policy'

import { isAddress } from '../../../spec/addresses.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { endpointsOfService, indexInputs } from '../../inputs/inputs.js'
import { compareNames, nameKey, servicePortKey, type ServicePortRef } from '../parts/keys.js'
import { byGroup, sameNames, type Names } from './name-groups.js'
import { allowsPlaintext } from '../access/plaintext.js'
import { calledService, podServices, serviceModel } from '../upstreams/services.js'

/** An address that several services claim on one port. */
export interface ContestedAddress {
  readonly address: string
  readonly owner: MeshService
  readonly losers: readonly MeshService[]
}

/** How strong a claim is; lower is stronger. */
type Strength = 0 | 1

/** An address by which clients dial a service port. */
interface Claim {
  readonly address: string
  readonly strength: Strength
}

/**
 * Addresses by which clients dial a service port; sorted. Those of a headless service are its endpoints'; an instance with a host name claims its own,
 * and the service only those that no instance claims. Workloads without interception are dialled elsewhere and claim nothing, and so do those without
 * a sidecar, unless the mesh speaks plaintext to them. An endpoint that is not a workload never claims an address.
 *
 * Virtual addresses are the strongest claim: anyone who can list endpoints by hand could otherwise list the virtual address of somebody else, and get
 * the traffic. For the same reason an address that is only written down, or that a machine says it has, claims nothing: it may be that of a workload of
 * another namespace, or one outside that the Egress of another namespace opens.
 */
const claims = defineQuery<CatalogState, ServicePortRef, readonly Claim[]>({
  name: 'claims',
  keyOf: servicePortKey,
  equal: deepEqual,
  compute: (context, { namespace, name, port }) => {
    const { parent, hostname } = calledService({ namespace, name })
    const model = context.get(serviceModel, parent)
    if (model === undefined) return []
    if (!model.headless)
      return hostname === undefined ? model.addresses.map((address) => ({ address, strength: 0 })) : []
    const found = new Map<string, Strength>()
    for (const { address, servicePort, sidecar, ...endpoint } of context.get(endpointsOfService, parent).items) {
      if (servicePort !== port || endpoint.hostname !== hostname || endpoint.isAddressWritten === true) continue
      // A tenant can write any address into a slice or a ServiceImport, also one that the Egress of another namespace opens.
      const isOfWorkload = endpoint.account !== undefined && endpoint.cluster === ''
      const inTheClear = sidecar === undefined && isOfWorkload && context.get(allowsPlaintext, namespace)
      if (!isAddress(address) || (sidecar?.mode !== 'transparent' && !inTheClear)) continue
      found.set(address, 1)
    }
    return [...found].sort(([a], [b]) => compareText(a, b)).map(([address, strength]) => ({ address, strength }))
  },
})

/**
 * Addresses that more than one service claims on a port. The strongest claim holds, of equal ones the first by namespace and name. There are hardly
 * ever any, so that anyone who reads this is rarely disturbed.
 */
export const contestedAddresses = defineQuery<CatalogState, number, readonly ContestedAddress[]>({
  name: 'contested-addresses',
  keyOf: String,
  equal: deepEqual,
  compute: (context, port) => {
    const claimants = new Map<string, Claimant[]>()
    for (const [number, services] of context.get(servicesByGroup, port).entries()) {
      if (services.length === 0) continue
      for (const claimant of context.get(groupClaims, { port, number })) {
        const others = claimants.get(claimant.address)
        if (others === undefined) claimants.set(claimant.address, [claimant])
        else others.push(claimant)
      }
    }
    return [...claimants]
      .filter(([, claimed]) => claimed.length > 1)
      .sort(([a], [b]) => compareText(a, b))
      .flatMap(([address, claimed]) => {
        const ranked = claimed.toSorted((a, b) => a.strength - b.strength || compareNames(a.service, b.service))
        const [owner, ...losers] = ranked.map(({ service }) => service)
        return owner === undefined ? [] : [{ address, owner, losers }]
      })
  },
})

interface Claimant extends Claim {
  readonly service: MeshService
}

/** Some of the services that have a port. */
interface PortGroup {
  readonly port: number
  readonly number: number
}

const portGroupKey = ({ port, number }: PortGroup): string => `${port}/${number}`

/** Addresses that headless services claim on a port; each once. */
export const headlessAddresses = defineQuery<CatalogState, number, readonly string[]>({
  name: 'headless-addresses',
  keyOf: String,
  equal: deepEqual,
  compute: (context, port) => {
    const found = context.get(servicesByGroup, port).flatMap((services, number) =>
      services.length === 0
        ? []
        : context
            .get(groupClaims, { port, number })
            .filter(({ strength }) => strength > 0)
            .map(({ address }) => address),
    )
    return [...new Set(found)].sort(compareText)
  },
})

/** What the services of a group claim. Most services of a mesh have the same port, and one more must not have all of them asked again. */
const groupClaims = defineQuery<CatalogState, PortGroup, readonly Claimant[]>({
  name: 'group-claims',
  keyOf: portGroupKey,
  equal: deepEqual,
  compute: (context, { port, number }) =>
    context
      .get(groupServices, { port, number })
      .flatMap((name) => withInstances(context, name))
      .flatMap((service) =>
        context.get(claims, { ...service, port }).map(({ address, strength }) => ({ service, address, strength })),
      ),
})

const groupServices = defineQuery<CatalogState, PortGroup, Names>({
  name: 'group-services',
  keyOf: portGroupKey,
  equal: sameNames,
  compute: (context, { port, number }) => context.get(servicesByGroup, port)[number] ?? [],
})

const servicesByGroup = defineQuery<CatalogState, number, readonly Names[]>({
  name: 'services-by-group',
  keyOf: String,
  // Computed when services have come or gone, and compared group by group by those who read it.
  equal: () => false,
  compute: (context, port) => byGroup(context.get(indexInputs.servicesByPort, String(port))),
})

/** Addresses that select a service port in transparent mode, without those that another service holds; sorted. */
export function ownedAddresses(
  context: QueryContext<CatalogState>,
  service: MeshService,
  port: number,
): readonly string[] {
  const claimed = context.get(claims, { ...service, port }).map(({ address }) => address)
  if (claimed.length === 0) return claimed
  const lost = context
    .get(contestedAddresses, port)
    .filter(({ owner }) => nameKey(owner) !== nameKey(service))
    .map(({ address }) => address)
  return claimed.filter((address) => !lost.includes(address))
}

/**
 * Headless services, and instances of them, that clients find at addresses which another one owns on a port; sorted by name. A workload may be behind several
 * headless services, and the address of an instance is also one of its service.
 */
export function servicesSharing(
  context: QueryContext<CatalogState>,
  service: MeshService,
  port: number,
): readonly MeshService[] {
  const { parent } = calledService(service)
  if (context.get(serviceModel, parent)?.headless !== true) return []
  if (ownedAddresses(context, service, port).length === 0) return []
  const losers = context
    .get(contestedAddresses, port)
    .filter(({ owner }) => nameKey(owner) === nameKey(service))
    .flatMap((contested) => contested.losers)
  const found = [parent, ...losers.flatMap((loser) => [loser, calledService(loser).parent])]
  const others = new Map(found.map((other) => [nameKey(other), other]))
  others.delete(nameKey(service))
  return [...others.values()].sort(compareNames)
}

/** The service, then each of its instances that can be called by its own name. */
export function withInstances(context: QueryContext<CatalogState>, service: MeshService): readonly MeshService[] {
  const instances = context.get(podServices, service)
  return [service, ...instances.map(({ hostname }) => ({ ...service, name: `${hostname}.${service.name}` }))]
}
