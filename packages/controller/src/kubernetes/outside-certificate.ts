import { X509Certificate, createPrivateKey } from 'node:crypto'

import type { ObjectRef } from '@osm-ts/core'
import { apiVersionOf, type KubernetesManifest, type KubernetesObject, resourceTypes } from '@osm-ts/kubernetes'

/** A certificate that some object asks for. */
export interface WantedCertificate {
  /** Who asks, and where. */
  readonly object: ObjectRef
  readonly field: string
  readonly names: readonly string[]
  readonly validityMs: number
  readonly secret: { readonly namespace: string; readonly name: string }
}

/** What a Secret holds. */
export interface SecretContent {
  readonly chain: string
  /** Secret. */
  readonly privateKey: string
  readonly roots: string
}

/** Label of Secrets that hold certificates of callers outside the mesh. */
export const outsideLabel = 'openservicemesh.io/outside-certificate'
/** Annotation that says which object a Secret was made for. */
const askedByAnnotation = 'openservicemesh.io/issued-for'
const validityAnnotation = 'openservicemesh.io/validity-ms'
/** Share of its life after which a certificate is replaced. */
const ROTATION = 2 / 3

/** True if the Secret was made for that object. Any other is left alone, whatever it is called. */
export function isOf({ metadata }: KubernetesObject, wanted: WantedCertificate): boolean {
  return (
    metadata.labels?.[outsideLabel] === 'true' && metadata.annotations?.[askedByAnnotation] === askedBy(wanted.object)
  )
}

/**
 * True if OSM or osm-edge made the Secret for the same names, before an upgrade: it holds a certificate of the mesh's own root, and no labels of ours.
 * What others have written does not.
 *
 * @param roots - PEM certificates of the mesh
 */
export function isOfFormerMesh(secret: KubernetesObject, wanted: WantedCertificate, roots: readonly string[]): boolean {
  if (secret.metadata.labels?.[outsideLabel] !== undefined) return false
  const leaf = leafOf(secret)
  return (
    leaf !== undefined &&
    sameNames(leaf, wanted) &&
    roots.some((root) => leaf.verify(new X509Certificate(root).publicKey))
  )
}

/** `Kind namespace/name`. */
function askedBy({ kind, namespace, name }: ObjectRef): string {
  return `${kind} ${namespace}/${name}`
}

/**
 * When to replace what a Secret holds, in milliseconds since 1970; 0 if it is not what is wanted.
 *
 * @param roots - PEM that anyone who reads the Secret should trust
 */
export function renewalTime(secret: KubernetesObject, wanted: WantedCertificate, roots: string): number {
  const text = (key: string): string => textOf(secret, key)
  if (text('ca.crt') !== roots) return 0
  if (secret.metadata.annotations?.[validityAnnotation] !== String(wanted.validityMs)) return 0
  const leaf = leafOf(secret)
  if (leaf === undefined || !sameNames(leaf, wanted)) return 0
  try {
    if (!leaf.checkPrivateKey(createPrivateKey(text('tls.key')))) return 0
    return renewalOf(Date.parse(leaf.validTo), wanted)
  } catch {
    // The content is not a key.
    return 0
  }
}

/** When to replace a certificate that ends then. Its own beginning is put back, for clocks that are behind. */
export function renewalOf(expiration: number, { validityMs }: WantedCertificate): number {
  return expiration - validityMs * (1 - ROTATION)
}

/** The Secret to write, in the form of Kubernetes' own TLS Secrets with the roots beside. */
export function secretManifest(
  wanted: WantedCertificate,
  content: SecretContent,
  labels: Readonly<Record<string, string>>,
  resourceVersion: string | undefined,
): KubernetesManifest {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  return {
    apiVersion: apiVersionOf(resourceTypes.Secret),
    kind: resourceTypes.Secret.kind,
    metadata: {
      ...wanted.secret,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      labels: { ...labels, [outsideLabel]: 'true' },
      annotations: {
        [askedByAnnotation]: askedBy(wanted.object),
        [validityAnnotation]: String(wanted.validityMs),
      },
    },
    type: 'kubernetes.io/tls',
    data: {
      'ca.crt': base64(content.roots),
      'tls.crt': base64(content.chain),
      'tls.key': base64(content.privateKey),
    },
  }
}

function textOf(secret: KubernetesObject, key: string): string {
  const data = secret.data as Readonly<Record<string, string>> | undefined
  return Buffer.from(data?.[key] ?? '', 'base64').toString()
}

/** The certificate in a Secret, or undefined if there is none. */
function leafOf(secret: KubernetesObject): X509Certificate | undefined {
  try {
    return new X509Certificate(textOf(secret, 'tls.crt'))
  } catch {
    return undefined
  }
}

function sameNames(leaf: X509Certificate, wanted: WantedCertificate): boolean {
  const names = [...new Set(wanted.names.map((name) => `DNS:${name.toLowerCase()}`))]
  return names.sort().join(', ') === (leaf.subjectAltName ?? '').split(', ').sort().join(', ')
}
