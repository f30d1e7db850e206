import { createHash, randomBytes, timingSafeEqual, X509Certificate } from 'node:crypto'

import { OsmError } from '@osm-ts/driver-api'

import type { MachineErrorCode } from './errors.js'

/** What a machine may become that presents a token. */
export interface MachineGrant {
  readonly namespace: string
  readonly serviceAccount: string
  /** Labels by which Services select the machine. */
  readonly labels: Readonly<Record<string, string>>
}

/** By which machine a token was used. */
export interface TokenUse {
  /** Hash of the public key, see {@link keyHash}. */
  readonly key: string
  /** Uuid of its sidecar. */
  readonly uuid: string
}

/** A token as it is stored: without its secret. */
export interface StoredToken extends MachineGrant {
  readonly id: string
  /** SHA-256 of the secret, hexadecimal. */
  readonly hash: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly use?: TokenUse
}

/** A token as it is handed over. */
export interface JoinToken {
  readonly id: string
  readonly secret: string
  /** SHA-256 of the public key of the root that the control plane is verified by, see {@link rootPin}. */
  readonly pin: string
}

const FORM = /^osm1\.([0-9a-f]{16})\.([\w-]{43})\.([\w-]{43})$/

/** Makes a token of 256 random bits, and what is stored of it. */
export function newJoinToken(
  grant: MachineGrant,
  { root, expiresAt }: { readonly root: string; readonly expiresAt: number },
): { readonly text: string; readonly stored: StoredToken } {
  const id = randomBytes(8).toString('hex')
  const secret = randomBytes(32).toString('base64url')
  return { text: `osm1.${id}.${secret}.${rootPin(root)}`, stored: { ...grant, id, hash: hashOf(secret), expiresAt } }
}

/** @throws OsmError with code `OSM_MACHINE_TOKEN`; the message does not repeat the text */
export function parseJoinToken(text: string): JoinToken {
  const [, id, secret, pin] = FORM.exec(text.trim()) ?? []
  if (id !== undefined && secret !== undefined && pin !== undefined) return { id, secret, pin }
  throw new OsmError<MachineErrorCode>(
    'OSM_MACHINE_TOKEN',
    'the join token is malformed: expected osm1.<id>.<secret>.<pin>, as osm machine token prints it',
  )
}

/** Whether the secret is that of the stored token. Takes equally long for any secret. */
export function isSecretOf({ hash }: StoredToken, secret: string): boolean {
  return timingSafeEqual(Buffer.from(hash, 'hex'), Buffer.from(hashOf(secret), 'hex'))
}

/** SHA-256 of the public key of a root in PEM: it stays the same when the root is signed again. */
export function rootPin(root: string): string {
  const key = new X509Certificate(root).publicKey.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(key).digest('base64url')
}

/** Tells one public key, as SubjectPublicKeyInfo in DER, from others. */
export function keyHash(publicKey: Uint8Array): string {
  return createHash('sha256').update(publicKey).digest('base64url')
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
