import type { CertificateProvider, LeafNames, LeafRequest, SignedLeaf, SigningRequest } from './certificate-provider.js'
import { Certificate } from './certificate.js'
import { writeCertificateRequest } from './certificate-request.js'
import { generateKeyPairFor, type KeyPair, type KeySpec } from './key-pair.js'
import type { LeafKind } from './kinds.js'

/**
 * Makes a key and has it signed. The key stays in the result: only callers that hand both to a sidecar ask in this way.
 *
 * @param takeKey - where keys come from; by default each is made on its own
 * @throws OsmError as {@link CertificateProvider.sign}
 */
export async function issueLeaf<K extends LeafKind>(
  provider: Pick<CertificateProvider, 'sign'>,
  request: LeafRequest<K>,
  signal: AbortSignal,
  takeKey: (spec: KeySpec) => Promise<KeyPair> | KeyPair = generateKeyPairFor,
): Promise<Certificate<K>> {
  signal.throwIfAborted()
  const { key, ...wanted } = request
  const pair = await takeKey(key)
  return signedCertificate(request, await provider.sign(signingRequest(wanted, pair), signal), pair.privateKey)
}

/**
 * What a provider has signed, as a certificate.
 *
 * @param privateKey - PEM; absent where the key is not here
 */
export function signedCertificate<K extends LeafKind>(
  { kind, commonName }: Pick<LeafNames<K>, 'kind' | 'commonName'>,
  { root, ...signed }: SignedLeaf,
  privateKey?: string,
): Certificate<K> {
  return new Certificate({
    ...signed,
    kind,
    commonName,
    issuingCA: root,
    ...(privateKey !== undefined && { privateKey }),
  })
}

/** What a provider is asked for a key pair. The private key signs the request and is not part of it. */
export function signingRequest<K extends LeafKind>(
  wanted: LeafNames<K> & { readonly validityMs: number },
  pair: KeyPair,
): SigningRequest<K> {
  const { publicKey, algorithm } = pair
  return { ...wanted, publicKey, algorithm, csr: () => writeCertificateRequest(wanted, pair) }
}
