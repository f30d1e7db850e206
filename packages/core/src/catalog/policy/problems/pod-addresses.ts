import type { MeshService } from '@osm-ts/driver-api'
import { compareText } from '@osm-ts/driver-api/policy'

import { isAddress } from '../../../spec/addresses.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { endpointsOfService, indexInputs } from '../../inputs/inputs.js'
import { compareNames, sameName, servicePortKey, type ServicePortRef } from '../parts/keys.js'
import { ANY_INSTANCE, calledService, portsOf, anyInstanceOf } from '../upstreams/services.js'
import { headlessAddresses, ownedAddresses } from './claims.js'

/**
 * Addresses of workloads behind a port of them, where the Service says that clients may dial these; sorted. Workloads of other namespaces do not count,
 * whatever a slice lists, and neither do those without a sidecar or without interception.
 */
const podAddresses = defineQuery<CatalogState, ServicePortRef, readonly string[]>({
  name: 'pod-addresses',
  keyOf: servicePortKey,
  equal: deepEqual,
  compute: (context, { port, ...service }) => {
    if (!portsOf(context, calledService(anyInstanceOf(service))).some((candidate) => candidate.port === port)) return []
    const found = context
      .get(endpointsOfService, service)
      .items.filter(
        ({ address, port: own, targetPort, sidecar, account, cluster, isAddressWritten }) =>
          isAddress(address) &&
          isAddressWritten !== true &&
          own === port &&
          targetPort === port &&
          cluster === '' &&
          sidecar?.mode === 'transparent' &&
          sidecar.uuid !== '' &&
          account?.namespace === service.namespace,
      )
      .map(({ address }) => address)
    return [...new Set(found)].sort(compareText)
  },
})

/** Addresses of workloads that a Service has. */
export interface PodAddresses {
  readonly service: MeshService
  /** Sorted. */
  readonly addresses: readonly string[]
}

/**
 * Addresses of workloads on one of their ports, by the Service that has them. A headless Service comes first, then the first Service by namespace and name.
 * Several Services in front of one workload are usual, so that this is no problem of any of them: the workload decides the same about a caller of each.
 */
export const podAddressOwners = defineQuery<CatalogState, number, readonly PodAddresses[]>({
  name: 'pod-address-owners',
  keyOf: String,
  equal: deepEqual,
  compute: (context, port) => {
    const services = context
      .get(indexInputs.servicesByTargetPort, String(port))
      .map((service) => ({ service, addresses: context.get(podAddresses, { ...service, port }) }))
      .filter(({ addresses }) => addresses.length > 0)
      .sort((a, b) => compareNames(a.service, b.service))
    if (services.length === 0) return []
    const taken = new Set(context.get(headlessAddresses, port))
    return services.map(({ service, addresses }) => {
      const free = addresses.filter((address) => !taken.has(address))
      for (const address of free) taken.add(address)
      return { service, addresses: free }
    })
  },
})

/** Addresses that select a service port in transparent mode; sorted. */
export function dialledAddresses(
  context: QueryContext<CatalogState>,
  service: MeshService,
  port: number,
): readonly string[] {
  const { parent, hostname } = calledService(service)
  if (hostname !== ANY_INSTANCE) return ownedAddresses(context, service, port)
  return context.get(podAddressOwners, port).find(({ service: owner }) => sameName(owner, parent))?.addresses ?? []
}
