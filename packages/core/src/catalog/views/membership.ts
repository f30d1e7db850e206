import { OsmError, type MeshService } from '@osm-ts/driver-api'

import { parseProxyCommonName, proxyKey, type ProxyKey, type TrustDomain } from '../../identity/index.js'
import { proxyOfEndpoint } from '../../endpoints/index.js'
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
    const identity = parseProxyCommonName(commonName, this.#trustDomain)
    const instance = this.#computation.snapshot.instanceOfProxy(proxyKey(identity))
    if (instance !== undefined) return this.#servicesOfInstance(instance)
    throw new OsmError(
      'OSM_PROXY_UNKNOWN',
      `no workload of the mesh has the proxy ${identity.uuid} and runs under its account`,
    )
  }

  /** Issued certificates ∩ connected proxies ∩ discovered endpoints; sorted by uuid, namespace and account. */
  participants(): readonly Participant[] {
    return this.#proxies.claimed().flatMap(({ proxy, commonName }) => {
      const instance = this.#computation.snapshot.instanceOfProxy(proxy)
      if (instance === undefined) return []
      const { uuid } = parseProxyCommonName(commonName, this.#trustDomain)
      const discovered = this.#servicesOfInstance(instance).filter((service) => this.#hasEndpoint(service, proxy))
      return discovered.length === 0 ? [] : [{ uuid, commonName, services: discovered }]
    })
  }

  #servicesOfInstance({ metadata: { namespace, labels } }: KindMap['WorkloadInstance']): readonly MeshService[] {
    const services = this.#computation.snapshot.servicesSelecting(namespace, labels)
    return services.map(({ metadata: { name } }) => ({ namespace, name }))
  }

  #hasEndpoint(service: MeshService, proxy: ProxyKey): boolean {
    const endpoints = this.#computation.state?.endpoints.listEndpointsForService(service).items ?? []
    return endpoints.some((endpoint) => proxyOfEndpoint(endpoint) === proxy)
  }
}
