import { isPlainRecord } from '../state/json.js'

/** A root that a controller trusts. */
export interface TrustedRoot {
  readonly authority: string
  readonly subject: string
  readonly fingerprint: string
  /** RFC 3339. */
  readonly expires: string
  readonly signs: boolean
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

/** What a controller says of its certificates. */
export interface CertificatesReport {
  readonly provider: { readonly name: string; readonly faults: readonly ReportedFault[] }
  readonly trusted: readonly TrustedRoot[]
}

/** The parts of the page that the command line shows; undefined if something else was answered. */
export function readCertificatesReport(page: unknown): CertificatesReport | undefined {
  if (!isPlainRecord(page) || !isPlainRecord(page['provider'])) return undefined
  const { name, faults } = page['provider']
  const { trusted } = page
  if (typeof name !== 'string' || !isListOf(faults, isFault) || !isListOf(trusted, isRoot)) return undefined
  return { provider: { name, faults }, trusted }
}

function isRoot(value: unknown): value is TrustedRoot {
  return (
    isPlainRecord(value) &&
    ['authority', 'subject', 'fingerprint', 'expires'].every((member) => typeof value[member] === 'string') &&
    typeof value['signs'] === 'boolean' &&
    typeof value['certificates'] === 'number'
  )
}

function isFault(value: unknown): value is ReportedFault {
  return (
    isPlainRecord(value) &&
    ['authority', 'code', 'severity', 'message'].every((member) => typeof value[member] === 'string')
  )
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.every(is)
}
