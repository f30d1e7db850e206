import { create, toBinary } from '@bufbuild/protobuf'
import type { Credential, TrustBundle } from '@osm-ts/driver-api'
import type { SecretCredentialRef } from '@osm-ts/driver-api/toolkit'
import { SecretSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'

import { egressCertSecret, egressRootsSecret } from '../resources/credential-names.js'
import { encodedResource } from '../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../resources/layered-resource-set.js'
import type { EncodedResource, ResourceSet } from '../resources/types.js'
import { ROOT_CERT_SECRET, SERVICE_CERT_SECRET } from '../resources/types.js'

/** The proxy's own certificate with its key. Made for one proxy and held by its stream alone. */
export function serviceCertificate(credential: Credential): EncodedResource {
  return certificateSecret(SERVICE_CERT_SECRET, credential)
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
  const secret = create(SecretSchema, {
    name,
    type: {
      case: 'tlsCertificate',
      value: {
        certificateChain: { specifier: { case: 'inlineString', value: chain } },
        privateKey: { specifier: { case: 'inlineString', value: privateKey } },
      },
    },
  })
  return encodedResource(name, toBinary(SecretSchema, secret), [])
}

function rootsSecret(name: string, certificates: readonly string[]): EncodedResource {
  const secret = create(SecretSchema, {
    name,
    type: {
      case: 'validationContext',
      value: { trustedCa: { specifier: { case: 'inlineString', value: certificates.join('\n') } } },
    },
  })
  return encodedResource(name, toBinary(SecretSchema, secret), [])
}
