import type { CertificateProvider, Metrics } from '@osm-ts/core'

/** A certificate provider, and a metric of how long it takes. */
export function timedProvider(provider: CertificateProvider, metrics: Metrics): CertificateProvider {
  const times = metrics.histogram(
    'osm_cert_issued_time',
    'Seconds that the certificate provider took to issue a certificate',
    [],
    [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
  )
  return {
    name: provider.name,
    async issue(request, signal) {
      const start = performance.now()
      const certificate = await provider.issue(request, signal)
      times.observe({}, (performance.now() - start) / 1000)
      return certificate
    },
    rootCertificate: (authority) => provider.rootCertificate(authority),
    trustBundle: (authority) => provider.trustBundle(authority),
    onRootChange: (listener) => provider.onRootChange(listener),
  }
}
