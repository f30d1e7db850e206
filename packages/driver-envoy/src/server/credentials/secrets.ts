import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Credential, TrustBundle } from '@osm-ts/driver-api'
import type { SecretCredentialRef } from '@osm-ts/driver-api/toolkit'
import type { TlsCertificateSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/common_pb.js'
import { SecretSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'

import { encodeMessage } from '../../resources/encode-message.js'
import { encodedResource } from '../../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../../resources/layered-resource-set.js'
import type { EncodedResource, ResourceSet } from '../../resources/types.js'
import { egressCertSecret, egressRootsSecret, ROOT_CERT_SECRET, SERVICE_CERT_SECRET } from '../../resources/types.js'

/**
 * The proxy's own certificate. Made for one proxy and held by its stream alone.
 *
 * @param keyFile - where the sidecar has its key, for a certificate that comes without
 * @throws TypeError if that is not known
 */
export function serviceCertificate(credential: Credential, keyFile?: string): EncodedResource {
  if (credential.key === undefined) return certificateSecret(SERVICE_CERT_SECRET, credential)
  if (keyFile === undefined) throw new TypeError('a certificate without its key is for sidecars that have one')
  return certificateOfKeyFile(SERVICE_CERT_SECRET, credential.chain, keyFile)
}

/** A client certificate of a Secret with its key, and the roots that come with it. Held by the streams of proxies whose policy names the Secret. */
export function egressSecrets(ref: SecretCredentialRef, credential: Credential): readonly EncodedResource[] {
  return [
    certificateSecret(egressCertSecret(ref), credential),
    rootsSecret(egressRootsSecret(ref), credential.roots ?? []),
  ]
}

/** The roots that peers are verified against. Holds nothing secret. */
export function rootCertificates({ certificates }: TrustBundle): EncodedResource {
  return rootsSecret(ROOT_CERT_SECRET, certificates)
}

/** All that a proxy may ask for. */
export function secretSet(secrets: readonly EncodedResource[]): ResourceSet {
  return new LayeredResourceSet([new ResourceLayer(secrets)])
}

function certificateSecret(name: string, { chain, privateKey }: Credential): EncodedResource {
  return tlsCertificate(name, chain, { privateKey: { specifier: { case: 'inlineString', value: privateKey } } })
}

/**
 * Of a secret that names files, Envoy reads them again when something is moved into the folder that it watches: by default that of the files. A key that was
 * replaced would be combined with the chain for the previous one, and every listener or cluster from then on be refused. In the folder `/` nothing is moved while
 * Envoy runs. So the key is read with each chain, and only then.
 */
function certificateOfKeyFile(name: string, chain: string, keyFile: string): EncodedResource {
  const privateKey = { specifier: { case: 'filename', value: keyFile } } as const
  return tlsCertificate(name, chain, { privateKey, watchedDirectory: { path: '/' } })
}

function tlsCertificate(
  name: string,
  chain: string,
  key: Pick<MessageInitShape<typeof TlsCertificateSchema>, 'privateKey' | 'watchedDirectory'>,
): EncodedResource {
  const certificateChain = { specifier: { case: 'inlineString', value: chain } } as const
  const type = { case: 'tlsCertificate', value: { certificateChain, ...key } } as const
  return encodedResource(name, encodeMessage(SecretSchema, { name, type }), [])
}

function rootsSecret(name: string, certificates: readonly string[]): EncodedResource {
  const trustedCa = { specifier: { case: 'inlineString', value: certificates.join('\n') } } as const
  const type = { case: 'validationContext', value: { trustedCa } } as const
  return encodedResource(name, encodeMessage(SecretSchema, { name, type }), [])
}
