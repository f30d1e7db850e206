import type { CertificateProvider, LeafNames, LeafRequest, SigningRequest } from './certificate-provider.js'
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
  const { chain, root, notBefore, expiration, serialNumber } = await provider.sign(signingRequest(wanted, pair), signal)
  return new Certificate({
    kind: request.kind,
    commonName: request.commonName,
    chain,
    privateKey: pair.privateKey,
    issuingCA: root,
    notBefore,
    expiration,
    serialNumber,
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
