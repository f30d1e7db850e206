import { create, toBinary } from '@bufbuild/protobuf'
import type { Credential, TrustBundle } from '@osm-ts/driver-api'
import { SecretSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'

import { encodedResource } from '../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../resources/layered-resource-set.js'
import type { EncodedResource, ResourceSet } from '../resources/types.js'
import { ROOT_CERT_SECRET, SERVICE_CERT_SECRET } from '../resources/types.js'

/** The proxy's own certificate with its key. Made for one proxy and held by its stream alone. */
export function serviceCertificate({ chain, privateKey }: Credential): EncodedResource {
  const secret = create(SecretSchema, {
    name: SERVICE_CERT_SECRET,
    type: {
      case: 'tlsCertificate',
      value: {
        certificateChain: { specifier: { case: 'inlineString', value: chain } },
        privateKey: { specifier: { case: 'inlineString', value: privateKey } },
      },
    },
  })
  return encodedResource(SERVICE_CERT_SECRET, toBinary(SecretSchema, secret), [])
}

/** The roots that peers are verified against. Holds nothing secret. */
export function rootCertificates({ certificates }: TrustBundle): EncodedResource {
  const secret = create(SecretSchema, {
    name: ROOT_CERT_SECRET,
    type: {
      case: 'validationContext',
      value: { trustedCa: { specifier: { case: 'inlineString', value: certificates.join('\n') } } },
    },
  })
  return encodedResource(ROOT_CERT_SECRET, toBinary(SecretSchema, secret), [])
}

/** All that a proxy may ask for. */
export function secretSet(secrets: readonly EncodedResource[]): ResourceSet {
  return new LayeredResourceSet([new ResourceLayer(secrets)])
}
