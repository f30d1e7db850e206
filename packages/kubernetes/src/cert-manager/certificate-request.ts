import { createHash } from 'node:crypto'

import type { SigningRequest } from '@osm-ts/core'

import type { KubernetesManifest, KubernetesObject } from '../api.js'
import { apiVersionOf, resourceTypes } from '../resource-types.js'

/** Who signs: an object of cert-manager, or of an issuer of another vendor. */
export interface IssuerRef {
  readonly name: string
  /** `Issuer`, `ClusterIssuer`, or a kind of another group. */
  readonly kind: string
  readonly group: string
}

/** How far a CertificateRequest has come. */
export type RequestState =
  /** No one has approved or denied it. */
  | { readonly step: 'unapproved' }
  /** It is approved, and not signed yet. */
  | { readonly step: 'pending'; readonly reason: string }
  | { readonly step: 'issued'; readonly certificate: string; readonly ca: string }
  /** It is denied, invalid or failed, and nothing will change that. */
  | { readonly step: 'refused'; readonly reason: string }

interface Condition {
  readonly type?: unknown
  readonly status?: unknown
  readonly reason?: unknown
  readonly message?: unknown
}

const MAX_REASON = 300

/** What sidecars, which are servers and clients, need. */
const USAGES = ['digital signature', 'key encipherment', 'server auth', 'client auth']

/**
 * Name of the object for a request. The same key and names get the same object, so that a request that waits for its approval is found again.
 */
export function requestName({ publicKey, commonName, dnsNames, uris, ipAddresses }: SigningRequest): string {
  const names = JSON.stringify([commonName, dnsNames, uris, ipAddresses])
  return `osm-${createHash('sha256').update(publicKey).update(names).digest('hex').slice(0, 40)}`
}

/** The object that asks for a certificate. */
export function requestManifest(
  request: SigningRequest,
  { namespace, labels, issuer }: RequestPlace,
): KubernetesManifest {
  const { name, kind, group } = issuer
  return {
    apiVersion: apiVersionOf(resourceTypes.CertificateRequest),
    kind: resourceTypes.CertificateRequest.kind,
    metadata: { name: requestName(request), namespace, labels },
    spec: {
      request: Buffer.from(request.csr()).toString('base64'),
      issuerRef: { name, kind, group },
      duration: `${Math.floor(request.validityMs / 1000)}s`,
      usages: USAGES,
      isCA: false,
    },
  }
}

/** Where a request is made, and who is to sign it. */
export interface RequestPlace {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly issuer: IssuerRef
}

/** Reads the conditions of a CertificateRequest. A denial counts before everything else, and a certificate before an approval is none. */
export function requestState({ status }: KubernetesObject): RequestState {
  const { conditions, certificate, ca } = (status ?? {}) as Readonly<Record<string, unknown>> // each is checked below
  const find = (type: string): Condition | undefined =>
    (Array.isArray(conditions) ? (conditions as readonly Condition[]) : []).find((each) => each.type === type)
  const isTrue = (type: string): boolean => find(type)?.status === 'True'
  const ready = find('Ready')
  if (isTrue('Denied')) return { step: 'refused', reason: `denied: ${textOf(find('Denied'))}` }
  if (isTrue('InvalidRequest')) return { step: 'refused', reason: `invalid: ${textOf(find('InvalidRequest'))}` }
  if (ready?.reason === 'Denied') return { step: 'refused', reason: `denied: ${textOf(ready)}` }
  if (ready?.reason === 'Failed') return { step: 'refused', reason: `failed: ${textOf(ready)}` }
  if (!isTrue('Approved')) return { step: 'unapproved' }
  const pem = decoded(certificate)
  if (ready?.status !== 'True' || pem === '')
    return { step: 'pending', reason: ready === undefined ? 'no issuer has taken it up' : textOf(ready) }
  return { step: 'issued', certificate: pem, ca: decoded(ca) }
}

/** What a condition says, in one line of bounded length. */
function textOf(condition: Condition | undefined): string {
  const text = [condition?.reason, condition?.message]
    .filter((part) => typeof part === 'string' && part !== '')
    .join(': ')
    .replaceAll(/\s+/g, ' ')
  if (text === '') return 'no reason given'
  return text.length > MAX_REASON ? `${text.slice(0, MAX_REASON)}…` : text
}

function decoded(value: unknown): string {
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : ''
}
