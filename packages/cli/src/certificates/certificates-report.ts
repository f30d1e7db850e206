import { isRecord } from '@osm-ts/driver-api/toolkit'

/** A root that a controller trusts. */
export interface TrustedRoot {
  readonly authority: string
  readonly subject: string
  readonly fingerprint: string
  /** RFC 3339. */
  readonly expires: string
  readonly signs: boolean
  /** Present: the root is that of a Workload API, which signs certificates of sidecars by itself. */
  readonly source?: string
  /** Certificates of this controller that it has signed. */
  readonly certificates: number
}

/** Something that is wrong with a certificate provider. */
export interface ReportedFault {
  readonly authority: string
  readonly code: string
  readonly severity: string
  readonly message: string
}

/** A certificate that a controller keeps. */
export interface IssuedCertificate {
  readonly kind: string
  readonly commonName: string
  /** RFC 3339. */
  readonly expiration: string
}

/** How far a controller is in a change of the provider. */
export interface ReportedRotation {
  /** Fingerprint of the root that signs. */
  readonly signs: string
  readonly sidecars: { readonly connected: number; readonly missing: number }
}

/** What a controller says of its certificates. */
export interface CertificatesReport {
  readonly provider: { readonly name: string; readonly faults: readonly ReportedFault[] }
  readonly trusted: readonly TrustedRoot[]
  readonly certificates: readonly IssuedCertificate[]
  /** Absent where the provider never changes. */
  readonly rotation?: ReportedRotation
}

/** The parts of the page that the command line shows; undefined if something else was answered. */
export function readCertificatesReport(page: unknown): CertificatesReport | undefined {
  if (!isRecord(page) || !isRecord(page['provider'])) return undefined
  const { name, faults } = page['provider']
  const { trusted, certificates } = page
  if (
    typeof name !== 'string' ||
    !isListOf(faults, isFault) ||
    !isListOf(trusted, isRoot) ||
    !isListOf(certificates, isIssued)
  )
    return undefined
  const { rotation } = page
  return { provider: { name, faults }, trusted, certificates, ...(isRotation(rotation) && { rotation }) }
}

function isRotation(value: unknown): value is ReportedRotation {
  if (!isRecord(value) || typeof value['signs'] !== 'string') return false
  const { sidecars } = value
  return isRecord(sidecars) && ['connected', 'missing'].every((member) => typeof sidecars[member] === 'number')
}

function isIssued(value: unknown): value is IssuedCertificate {
  return isRecord(value) && ['kind', 'commonName', 'expiration'].every((member) => typeof value[member] === 'string')
}

function isRoot(value: unknown): value is TrustedRoot {
  return (
    isRecord(value) &&
    ['authority', 'subject', 'fingerprint', 'expires'].every((member) => typeof value[member] === 'string') &&
    typeof value['signs'] === 'boolean' &&
    typeof value['certificates'] === 'number' &&
    ['undefined', 'string'].includes(typeof value['source'])
  )
}

function isFault(value: unknown): value is ReportedFault {
  return (
    isRecord(value) && ['authority', 'code', 'severity', 'message'].every((member) => typeof value[member] === 'string')
  )
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.every(is)
}
