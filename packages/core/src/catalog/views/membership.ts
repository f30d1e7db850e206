import { OsmError, type MeshService } from '@osm-ts/driver-api'

import { parseProxyCommonName, proxyKey, type TrustDomain } from '../../identity/index.js'
import type { KindMap } from '../../spec/index.js'
import type { PolicyComputation } from '../policy-computation.js'

/** Which services proxies are members of. Membership is that of the workload beside the proxy. */
export class Membership {
  readonly #computation: PolicyComputation
  readonly #trustDomain: TrustDomain

  constructor(computation: PolicyComputation, trustDomain: TrustDomain) {
    this.#computation = computation
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

  #servicesOfInstance({ metadata: { namespace, labels } }: KindMap['WorkloadInstance']): readonly MeshService[] {
    const services = this.#computation.snapshot.servicesSelecting(namespace, labels)
    return services.map(({ metadata: { name } }) => ({ namespace, name }))
  }
}
