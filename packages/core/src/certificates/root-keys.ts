import { X509Certificate } from 'node:crypto'

/** A root certificate, in PEM or parsed. */
type Root = string | X509Certificate

/**
 * Whether a root of one list has the key of a root of the other list.
 *
 * Keys are compared, not certificates: a CA can sign a second certificate for its key, and a verifier that trusts either of them accepts all that the key has
 * signed. If the control plane and workloads had a key in common, a workload could pass for the control plane.
 */
export function haveCommonKey(ones: readonly Root[], others: readonly Root[]): boolean {
  const keys = new Set(ones.map(publicKeyOf))
  return others.some((root) => keys.has(publicKeyOf(root)))
}

function publicKeyOf(root: Root): string {
  const { publicKey } = typeof root === 'string' ? new X509Certificate(root) : root
  return publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
}
