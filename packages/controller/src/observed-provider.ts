import { type CertificateProvider, type Metrics, type ProviderFault } from '@osm-ts/core'
import { isOsmError } from '@osm-ts/driver-api'

/** A certificate provider whose answers are counted. */
export interface ObservedProvider extends CertificateProvider {
  /** Calls back when other faults are known than before. The result ends it. */
  onFaultChange(listener: () => void): () => void
}

/** Measures how long a certificate provider takes and how often it fails, and tells when its faults change. */
export function observedProvider(provider: CertificateProvider, metrics: Metrics): ObservedProvider {
  const times = metrics.histogram(
    'osm_cert_issued_time',
    'Time to issue a certificate, in seconds',
    [],
    [0.02, 0.5, 10],
  )
  const failures = metrics.counter('osm_cert_issue_failure_count', 'Certificates that the provider failed to issue', [
    'provider',
    'code',
  ])
  const healthy = metrics.gauge(
    'osm_cert_provider_healthy',
    '1 while the certificate provider issues all requested certificates, else 0',
    ['provider'],
  )
  const listeners = new Set<() => void>()
  let known = ''
  const compare = (): void => {
    const faults = provider.faults()
    healthy.set({ provider: provider.name }, faults.some(isError) ? 0 : 1)
    const found = faults.map(({ code, message }) => `${code} ${message}`).join('\n')
    if (found === known) return
    known = found
    for (const listener of listeners) listener()
  }
  compare()
  return {
    get name() {
      return provider.name
    },
    get signsPublicKeys() {
      return provider.signsPublicKeys
    },
    async sign(request, signal) {
      const start = performance.now()
      try {
        const signed = await provider.sign(request, signal)
        times.observe({}, (performance.now() - start) / 1000)
        return signed
      } catch (error) {
        failures.inc({ provider: provider.name, code: isOsmError(error) ? error.code : 'OSM_CERT_ISSUE' })
        throw error
      } finally {
        compare()
      }
    },
    rootCertificate: (authority) => provider.rootCertificate(authority),
    trustBundle: (authority) => provider.trustBundle(authority),
    onRootChange: (listener) => provider.onRootChange(listener),
    faults: () => provider.faults(),
    onFaultChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function isError({ severity }: ProviderFault): boolean {
  return severity === 'error'
}
