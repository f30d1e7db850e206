import type { KeySpec } from './key-pair.js'

/** What MeshConfig and the programs decide about certificates. */
export interface CertificateSettings {
  /** MeshConfig's `certificate.serviceCertValidityDuration`; each certificate gets up to a tenth more or less. */
  readonly serviceValidityMs: number
  /** Proxy certificates live as long as pods do: they are written into a pod once. */
  readonly proxyValidityMs: number
  /** Certificates of the control plane's own servers, which are replaced while they run. */
  readonly controlPlaneValidityMs: number
  readonly key: KeySpec
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Settings where MeshConfig says nothing. */
export const defaultCertificateSettings: CertificateSettings = Object.freeze({
  serviceValidityMs: DAY_MS,
  proxyValidityMs: 3652 * DAY_MS,
  controlPlaneValidityMs: 30 * DAY_MS,
  key: Object.freeze({ algorithm: 'ECDSA' }),
})

/** The settings that MeshConfig's `spec.certificate` gives; what it does not speak of is as by default. */
export function certificateSettings(config: {
  readonly serviceCertValidityMs: number
  readonly key: KeySpec
}): CertificateSettings {
  return { ...defaultCertificateSettings, serviceValidityMs: config.serviceCertValidityMs, key: config.key }
}
