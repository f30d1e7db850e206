import type { TrustBundle } from '@osm-ts/driver-api'
import { Latest } from '@osm-ts/driver-api/toolkit'

import type { CertificateManager } from '../certificates/certificate-manager.js'
import type { Authority } from '../certificates/kinds.js'

/** The roots of both authorities, live. */
export class TrustBundles {
  readonly workload = new Latest<TrustBundle>()
  readonly controlPlane = new Latest<TrustBundle>()
  readonly #certificates: Pick<CertificateManager, 'trustBundle'>

  constructor(certificates: Pick<CertificateManager, 'trustBundle'>) {
    this.#certificates = certificates
    this.refresh()
  }

  /** Tells readers of roots that have changed. */
  refresh(): void {
    this.#refresh('workload', this.workload)
    this.#refresh('control-plane', this.controlPlane)
  }

  #refresh(authority: Authority, latest: Latest<TrustBundle>): void {
    const certificates = this.#certificates.trustBundle(authority)
    const id = certificates.join('\n')
    if (latest.current?.id !== id) latest.set({ id, certificates })
  }
}
