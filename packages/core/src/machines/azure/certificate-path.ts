import type { X509Certificate } from 'node:crypto'

import { DerReader } from '../../certificates/der-reader.js'

/** What a path is built from. */
export interface PathOptions {
  /** Certificates that may stand between leaf and root, from anyone. */
  readonly intermediates: readonly X509Certificate[]
  readonly roots: readonly X509Certificate[]
  /** Milliseconds since 1970. */
  readonly now: number
}

interface Extension {
  readonly id: string
  readonly isCritical: boolean
  readonly value: Buffer
}

/** Certificates between leaf and root at most. */
const MAX_INTERMEDIATES = 4
const ids = {
  basicConstraints: '551d13',
  nameConstraints: '551d1e',
} as const
/** Critical extensions that are looked at here or by OpenSSL: key usage, names, basic constraints, policies, extended key usage. */
const KNOWN: ReadonlySet<string> = new Set(['551d0f', '551d11', ids.basicConstraints, '551d20', '551d25'])
const SERVER_AUTHENTICATION = '1.3.6.1.5.5.7.3.1'
const ANY_USAGE = '2.5.29.37.0'

/**
 * Verifies that one of the roots vouches for a certificate of a TLS server, directly or by intermediates.
 *
 * Roots may be public ones, which vouch for many others: so every certificate on the way has to be meant for TLS servers, and none may be limited to names.
 *
 * @throws Error that says what is missing
 */
export function verifyPath(leaf: X509Certificate, { intermediates, roots, now }: PathOptions): void {
  if (leaf.ca) throw new Error('the certificate is that of an authority')
  let current = leaf
  for (let depth = 0; depth <= MAX_INTERMEDIATES; depth += 1) {
    checkCertificate(current, depth, now)
    const signed = current
    const root = roots.find((each) => isIssuer(each, signed))
    if (root !== undefined) {
      checkValidity(root, now)
      return
    }
    const next = intermediates.find((each) => isIssuer(each, signed))
    if (next === undefined) break
    current = next
  }
  throw new Error(`no pinned root vouches for the issuer of ${nameOf(current.subject)}, ${nameOf(current.issuer)}`)
}

function isIssuer(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

/** @param depth - certificates below this one that are not the leaf, and one more */
function checkCertificate(certificate: X509Certificate, depth: number, now: number): void {
  checkValidity(certificate, now)
  // Node.js names the extended key usage so; without one a certificate is for any use.
  const usages = certificate.keyUsage as readonly string[] | undefined
  if (usages !== undefined && !usages.includes(SERVER_AUTHENTICATION) && !usages.includes(ANY_USAGE))
    throw new Error(`${nameOf(certificate.subject)} is not meant for TLS servers`)
  for (const { id, isCritical, value } of extensionsOf(certificate.raw)) {
    if (id === ids.nameConstraints) throw new Error(`${nameOf(certificate.subject)} is limited to certain names`)
    if (isCritical && !KNOWN.has(id))
      throw new Error(`${nameOf(certificate.subject)} has an unknown critical extension`)
    if (id === ids.basicConstraints && depth - 1 > pathLengthOf(value))
      throw new Error(`${nameOf(certificate.subject)} may not issue for other authorities`)
  }
}

function checkValidity({ validFrom, validTo, subject }: X509Certificate, now: number): void {
  if (now < Date.parse(validFrom)) throw new Error(`${nameOf(subject)} is not valid before ${validFrom}`)
  if (now > Date.parse(validTo)) throw new Error(`${nameOf(subject)} was valid until ${validTo}`)
}

/** Authorities below this one at most. */
function pathLengthOf(value: Buffer): number {
  const constraints = new DerReader(value, 'the basic constraints').sequence()
  constraints.optional('boolean')
  const length = constraints.optional('integer')
  return length === undefined ? Infinity : length.readUIntBE(0, Math.min(length.length, 6))
}

function extensionsOf(certificate: Buffer): readonly Extension[] {
  const signed = new DerReader(certificate, 'the certificate').sequence().sequence()
  signed.optional('tagged0')
  signed.skip('integer')
  for (let element = 0; element < 5; element += 1) signed.skip('sequence')
  signed.optional('issuerId')
  signed.optional('subjectId')
  if (signed.isEmpty) return []
  const list = signed.inside('tagged3').sequence()
  const found: Extension[] = []
  while (!list.isEmpty) {
    const extension = list.sequence()
    const id = extension.content('objectId').toString('hex')
    const isCritical = (extension.optional('boolean')?.[0] ?? 0) !== 0
    found.push({ id, isCritical, value: extension.content('octetString') })
  }
  return found
}

/** A name on one line, short enough for a message. */
function nameOf(name: string): string {
  return JSON.stringify(name.replaceAll('\n', ', ').slice(0, 200))
}
