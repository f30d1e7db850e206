import { Type } from '@sinclair/typebox'

import { duration, maxCount, oneOf, portNumber, struct } from './common.js'

const unit = oneOf(['second', 'minute', 'hour'], 'Time unit of the limit.')
const burst = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: maxCount,
    description: 'Burst above the limit that is allowed for a short time.',
  }),
)
const statusCode = Type.Integer({
  minimum: 400,
  maximum: 599,
  default: 429,
  description: 'Response status for limited requests.',
})
const text = (description: string) => Type.String({ minLength: 1, description })

/** A limit on requests that each proxy counts on its own. */
export const HttpLocalRateLimitSchema = struct(
  {
    requests: Type.Integer({ minimum: 1, maximum: maxCount, description: 'Requests per unit.' }),
    unit,
    burst,
    responseStatusCode: statusCode,
    responseHeadersToAdd: Type.Optional(
      Type.Array(struct({ name: text('Header name.'), value: text('Header value.') }, 'A header.'), {
        description: 'Response headers for limited requests.',
      }),
    ),
  },
  'Limit on requests.',
)

/** A limit on new connections that each proxy counts on its own. */
export const TcpLocalRateLimitSchema = struct(
  { connections: Type.Integer({ minimum: 1, maximum: maxCount, description: 'Connections per unit.' }), unit, burst },
  'Limit on new connections.',
)

const HeaderMatcherSchema = struct(
  {
    name: text('Header name.'),
    exact: Type.Optional(text('Exact value.')),
    prefix: Type.Optional(text('Prefix of the value.')),
    suffix: Type.Optional(text('Suffix of the value.')),
    regex: Type.Optional(text('RE2 expression that must match the whole value.')),
    contains: Type.Optional(text('Substring of the value.')),
    present: Type.Optional(Type.Boolean({ description: 'True: the header is present; false: it is absent.' })),
  },
  'A header that must match. Exactly one field besides the name.',
)

const HttpDescriptorEntrySchema = struct(
  {
    genericKey: Type.Optional(
      struct(
        { value: text('Value of the entry.'), key: Type.Optional(text('Key of the entry. Defaults to generic_key.')) },
        'A constant.',
      ),
    ),
    remoteAddress: Type.Optional(struct({}, 'The address of the caller, under the key remote_address.')),
    requestHeader: Type.Optional(
      struct({ name: text('Header name.'), key: text('Key of the entry.') }, 'The value of a request header.'),
    ),
    headerValueMatch: Type.Optional(
      struct(
        {
          value: text('Value of the entry.'),
          headers: Type.Array(HeaderMatcherSchema, { minItems: 1, description: 'Headers that must all match.' }),
          key: Type.Optional(Type.String({ description: 'Key of the entry. Defaults to header_match.' })),
          expectMatch: Type.Boolean({
            default: true,
            description: 'False: the entry is created when the headers do not match.',
          }),
        },
        'A constant, created when headers match.',
      ),
    ),
  },
  'An entry. Exactly one field.',
)

/** Descriptors that tell a rate-limit service about a request. */
export const HttpRateLimitDescriptorsSchema = Type.Array(
  struct(
    { entries: Type.Array(HttpDescriptorEntrySchema, { minItems: 1, description: 'Entries, in order.' }) },
    'A descriptor.',
  ),
  { minItems: 1, description: 'Descriptors of a request for the service.' },
)

const serviceProperties = {
  rateLimitService: struct(
    { host: text('Host of the service.'), port: portNumber('gRPC port of the service.') },
    'The rate limit service.',
  ),
  domain: Type.String({ description: 'Domain of the limits at the service.' }),
  timeout: Type.Optional(duration('Timeout.')),
  failOpen: Type.Boolean({ default: true, description: 'True: traffic is allowed while the service is unavailable.' }),
}

/** A limit on new connections that a service counts for all proxies. */
export const TcpGlobalRateLimitSchema = struct(
  {
    ...serviceProperties,
    descriptors: Type.Array(
      struct(
        {
          entries: Type.Array(
            struct(
              { key: Type.String({ description: 'Key.' }), value: Type.String({ description: 'Value.' }) },
              'An entry.',
            ),
            { minItems: 1, description: 'Entries, in order.' },
          ),
        },
        'A descriptor.',
      ),
      { minItems: 1, description: 'Descriptors of a connection for the service.' },
    ),
  },
  'Limit on new connections.',
)

/** A limit on requests that a service counts for all proxies. */
export const HttpGlobalRateLimitSchema = struct(
  {
    ...serviceProperties,
    descriptors: Type.Optional(HttpRateLimitDescriptorsSchema),
    enableXRateLimitHeaders: Type.Boolean({
      default: false,
      description: 'True: responses contain x-ratelimit headers.',
    }),
    responseStatusCode: statusCode,
  },
  'Limit on requests.',
)
