import { Type } from '@sinclair/typebox'

import type { Principal, ProxyUUID, ServiceIdentity, SpiffeId } from '../identity.js'
import type { JsonValue, PartHash } from '../policy/parts/values.js'
import { branded, closed, list, oneOf } from './builders.js'

/** Largest count or weight: what proxies hold in 32 bits. */
export const MAX_COUNT = 4_294_967_295

/** A string that is not empty. */
export const nameSchema = Type.String({ minLength: 1 })

/** A TCP or UDP port. */
export const portSchema = Type.Integer({ minimum: 1, maximum: 65_535 })

/** A count, weight or priority. */
export const countSchema = Type.Integer({ minimum: 0, maximum: MAX_COUNT })

/** A count that is not zero. */
export const positiveCountSchema = Type.Integer({ minimum: 1, maximum: MAX_COUNT })

/** A duration in milliseconds; 0 where the field says what 0 means. */
export const durationSchema = Type.Integer({ minimum: 0 })

/** A duration in milliseconds that is not zero. */
export const positiveDurationSchema = Type.Integer({ minimum: 1 })

/** A share, 0 to 1. */
export const fractionSchema = Type.Number({ minimum: 0, maximum: 1 })

/** An HTTP status that reports an error. */
export const errorStatusSchema = Type.Integer({ minimum: 400, maximum: 599 })

/** An HTTP status. */
export const statusSchema = Type.Integer({ minimum: 100, maximum: 599 })

/** A sidecar class: a DNS label. */
export const classSchema = Type.String({ pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' })

/** Schema of {@link PartHash}. */
export const partHashSchema = branded<PartHash>('^[A-Za-z0-9_-]{32}$')

/** Schema of {@link ServiceIdentity}. */
export const serviceIdentitySchema = branded<ServiceIdentity>('^[^\\s/]+\\.[^\\s./]+$')

/** Schema of {@link Principal}. */
export const principalSchema = branded<Principal>('^[^\\s/*]+$')

/** Schema of {@link SpiffeId}. */
export const spiffeIdSchema = branded<SpiffeId>('^spiffe://[^\\s/]+/[^\\s/]+/[^\\s/]+$')

/** Schema of {@link ProxyUUID}. */
export const proxyUuidSchema = branded<ProxyUUID>('^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$')

/** Schema of {@link JsonValue}: anything, since a document is JSON already. */
export const jsonValueSchema = Type.Unsafe<JsonValue>(Type.Unknown())

/** A host name without port: lower case, an IPv6 address in brackets. */
export const hostSchema = Type.String({ pattern: '^([^\\sA-Z:/\\[\\]]+|\\[[0-9a-f:.]+\\])$' })

/** Schema of {@link Protocol}. */
export const protocolSchema = oneOf('http', 'http2', 'grpc', 'https', 'tcp', 'tcp-server-first')

/** Schema of {@link SocketAddress}. */
export const socketAddressSchema = closed({ address: nameSchema, port: portSchema })

/** Schema of {@link HostAddress}. */
export const hostAddressSchema = closed({ host: nameSchema, port: portSchema })

/** Schema of {@link Locality}. */
export const localitySchema = closed({ region: Type.String(), zone: Type.String(), subZone: Type.String() })

/** Schema of {@link CredentialRef}. */
export const credentialRefSchema = Type.Union([
  closed({ kind: Type.Literal('service') }),
  closed({ kind: Type.Literal('egress'), name: nameSchema }),
  closed({ kind: Type.Literal('secret'), namespace: nameSchema, name: nameSchema }),
])

/** Schema of {@link HttpHeader}: a token, and a value without line breaks. */
const httpHeaderSchema = closed({
  name: Type.String({ pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" }),
  value: Type.String({ pattern: '^[^\\r\\n\\u0000]*$' }),
})

/** Several headers. */
export const httpHeadersSchema = list(httpHeaderSchema)

/** Schema of {@link MeshService}. */
export const meshServiceSchema = closed({ namespace: nameSchema, name: nameSchema })
