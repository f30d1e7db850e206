import type { CertificateProvider, MeshConfigurator, ServiceCertificateMode } from '@osm-ts/core'
import { Listeners } from '@osm-ts/driver-api/toolkit'

/**
 * Whose keys service certificates are for: what MeshConfig says, as far as the provider can. One that wants requests signed by the key cannot sign for a key that is
 * with a proxy.
 */
export function serviceCertificateMode(
  configurator: Pick<MeshConfigurator, 'current' | 'subscribe'>,
  provider: Pick<CertificateProvider, 'signsPublicKeys' | 'onRootChange'>,
  signal: AbortSignal,
): ServiceCertificateMode {
  const current = (): 'shared' | 'perProxy' =>
    provider.signsPublicKeys ? configurator.current().certificate.serviceCertificates : 'shared'
  const listeners = new Listeners()
  let known = current()
  const compare = (): void => {
    const mode = current()
    if (mode === known) return
    known = mode
    listeners.notify()
  }
  // Another provider signs under another root.
  const ends = [configurator.subscribe(compare), provider.onRootChange(compare)]
  signal.addEventListener('abort', () => ends.forEach((end) => end()), { once: true })
  return { current, onChange: (listener) => listeners.add(listener) }
}
