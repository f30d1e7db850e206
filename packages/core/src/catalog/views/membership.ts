import { OsmError, type MeshService } from '@osm-ts/driver-api'

import { parseProxyCommonName, type TrustDomain } from '../../identity/index.js'
import type { KindMap } from '../../spec/index.js'
import type { Participant } from '../catalog-types.js'
import type { PolicyComputation } from '../policy-computation.js'
import type { ProxyRegistry } from '../proxy-registry.js'

/** Which services proxies are members of. Membership is that of the workload beside the proxy. */
export class Membership {
  readonly #computation: PolicyComputation
  readonly #proxies: ProxyRegistry
  readonly #trustDomain: TrustDomain

  constructor(computation: PolicyComputation, proxies: ProxyRegistry, trustDomain: TrustDomain) {
    this.#computation = computation
    this.#proxies = proxies
    this.#trustDomain = trustDomain
  }

  /** Services of the proxy with that certificate name, whose service account must be that of the workload. */
  servicesOf(commonName: string): readonly MeshService[] {
    const { uuid, serviceAccount } = parseProxyCommonName(commonName, this.#trustDomain)
    const instance = this.#computation.snapshot.instanceByUuid(uuid)
    if (
      instance?.metadata.namespace === serviceAccount.namespace &&
      instance.spec.serviceAccountName === serviceAccount.name
    )
      return this.#servicesOfInstance(instance)
    throw new OsmError('OSM_PROXY_UNKNOWN', `no workload of the mesh has the proxy ${uuid} and runs under its account`)
  }

  /** Issued certificates ∩ connected proxies ∩ discovered endpoints; sorted by uuid. */
  participants(): readonly Participant[] {
    return this.#proxies.claimed().flatMap(({ uuid, commonName }) => {
      const instance = this.#computation.snapshot.instanceByUuid(uuid)
      const services = instance === undefined ? [] : this.#servicesOfInstance(instance)
      const discovered = services.filter((service) => this.#hasEndpoint(service, uuid))
      return discovered.length === 0 ? [] : [{ uuid, commonName, services: discovered }]
    })
  }

  #servicesOfInstance({ metadata: { namespace, labels } }: KindMap['WorkloadInstance']): readonly MeshService[] {
    const services = this.#computation.snapshot.servicesSelecting(namespace, labels)
    return services.map(({ metadata: { name } }) => ({ namespace, name }))
  }

  #hasEndpoint(service: MeshService, uuid: string): boolean {
    const endpoints = this.#computation.state?.endpoints.listEndpointsForService(service).items ?? []
    return endpoints.some(({ sidecar }) => sidecar?.uuid === uuid)
  }
}
