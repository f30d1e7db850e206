import { type KubernetesApi, servedPodCertificates } from '@osm-ts/kubernetes'
import { OsmError } from '@osm-ts/driver-api'

import type { InjectorErrorCode } from '../error-codes.js'

/** How long the answer of the API server holds. It loses such an API only when it is restarted, and pods would wait for one that it has got. */
const HOLDS_MS = { served: 60_000, absent: 5_000 } as const

/** Whether the API server serves the requests by which kubelets ask for certificates of pods. */
export class PodCertificateSupport {
  readonly #api: Pick<KubernetesApi, 'read'>
  /** Milliseconds that never run backwards. */
  readonly #now: () => number
  #known: { readonly isServed: boolean; readonly until: number } | undefined

  constructor(api: Pick<KubernetesApi, 'read'>, now: () => number) {
    this.#api = api
    this.#now = now
  }

  /**
   * Refuses pods that would never start.
   *
   * @throws OsmError `OSM_INJECT_POD_CERTIFICATES`, or a KubernetesError if the API server does not say
   */
  async assertServed(signal: AbortSignal): Promise<void> {
    if (this.#known === undefined || this.#known.until <= this.#now()) {
      const isServed = (await servedPodCertificates(this.#api, signal)) !== undefined
      this.#known = { isServed, until: this.#now() + (isServed ? HOLDS_MS.served : HOLDS_MS.absent) }
    }
    if (this.#known.isServed) return
    throw new OsmError<InjectorErrorCode>(
      'OSM_INJECT_POD_CERTIFICATES',
      'osm.proxyIdentity is podCertificate, and the API server serves no PodCertificateRequests; enable them in API server and kubelets, or set osm.proxyIdentity to secret',
    )
  }
}
