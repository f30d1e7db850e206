import { didYouMean } from '../spec/suggest.js'
import type { Findings } from './findings.js'

/** Cipher suites of TLS 1.2 by their names in OpenSSL; TLS 1.3 has its own, which no one chooses. */
const cipherSuiteNames = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-SHA',
  'ECDHE-RSA-AES128-SHA',
  'ECDHE-ECDSA-AES256-SHA',
  'ECDHE-RSA-AES256-SHA',
  'AES128-GCM-SHA256',
  'AES256-GCM-SHA384',
  'AES128-SHA',
  'AES256-SHA',
] as const

/** Groups for the exchange of keys. */
const curveNames = ['X25519', 'P-256', 'P-384', 'P-521', 'X25519MLKEM768'] as const

/**
 * Cipher suites that sidecars know. One name that they do not know would have them refuse all of their configuration, so that such are left out. Of
 * suites in brackets, `[A|B]`, the client chooses.
 */
export function knownCipherSuites(written: readonly string[], findings: Findings): readonly string[] {
  return written.filter((entry, index) => {
    const suites = /^\[.+\]$/.test(entry) ? entry.slice(1, -1).split('|') : [entry]
    return suites.every((suite) => isKnown(suite, cipherSuiteNames, `spec.sidecar.cipherSuites[${index}]`, findings))
  })
}

/** Curves that sidecars know. */
export function knownCurves(written: readonly string[], findings: Findings): readonly string[] {
  return written.filter((curve, index) => isKnown(curve, curveNames, `spec.sidecar.ecdhCurves[${index}]`, findings))
}

function isKnown(name: string, names: readonly string[], field: string, findings: Findings): boolean {
  if (names.includes(name)) return true
  findings.report(
    'OSM_CONFIG_TLS_NAME',
    field,
    `${JSON.stringify(name)} is not known and left out${didYouMean(name, names)}`,
  )
  return false
}
