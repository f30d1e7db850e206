import { create, createRegistry, type JsonValue, toJson } from '@bufbuild/protobuf'
import { SecretSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'
import { DiscoveryResponseSchema } from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'

import { type Init, pack } from '../translate/encoding/encode.js'
import { files } from './text-with-files.js'

/** SDS name of the proxy certificate. */
export const CERTIFICATE_SECRET = 'tls_sds'
/** SDS name of the control plane's roots. */
export const VALIDATION_SECRET = 'validation_context_sds'

/**
 * The proxy certificate as a secret by file. Envoy watches the folder of the files that a secret names, and reads them again when one is put in their
 * place by rename; a certificate whose key does not fit is not taken.
 */
export function certificateSecret(): JsonValue {
  return secretResponse({
    name: CERTIFICATE_SECRET,
    type: {
      case: 'tlsCertificate',
      value: { certificateChain: fileSource(files.certificate), privateKey: fileSource(files.privateKey) },
    },
  })
}

/** The control plane's roots as a secret by file. */
export function validationSecret(): JsonValue {
  return secretResponse({
    name: VALIDATION_SECRET,
    type: { case: 'validationContext', value: { trustedCa: fileSource(files.roots) } },
  })
}

function fileSource(path: string): { readonly specifier: { readonly case: 'filename'; readonly value: string } } {
  return { specifier: { case: 'filename', value: path } }
}

function secretResponse(secret: Init<typeof SecretSchema>): JsonValue {
  const response = create(DiscoveryResponseSchema, { resources: [pack(SecretSchema, secret)] })
  return toJson(DiscoveryResponseSchema, response, { registry: createRegistry(SecretSchema) })
}
