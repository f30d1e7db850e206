import { isOsmError } from '@osm-ts/driver-api'

/** Reasons of the event that a program leaves on its own pod when it can't continue, as OSM named them. */
export type FatalReason =
  | 'FatalInvalidCLIParameters'
  | 'FatalInvalidCertificateManager'
  | 'FatalCertificateIssuanceFailure'
  | 'FatalInitializationError'

/** OSM's reason for an error. */
export function fatalReasonOf(error: unknown): FatalReason {
  if (!isOsmError(error)) return 'FatalInitializationError'
  const { code } = error
  if (code === 'OSM_PROGRAM_FLAG') return 'FatalInvalidCLIParameters'
  // The domains of identities come from flags.
  if (code === 'OSM_IDENTITY_DOMAINS_OVERLAP') return 'FatalInvalidCLIParameters'
  if (code === 'OSM_PROGRAM_CERTIFICATE_MANAGER') return 'FatalInvalidCertificateManager'
  if (/^OSM_CERT_(STORE|CA)_/.test(code)) return 'FatalInvalidCertificateManager'
  if (code.startsWith('OSM_CERT_')) return 'FatalCertificateIssuanceFailure'
  return 'FatalInitializationError'
}
