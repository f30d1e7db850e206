import { Type } from '@sinclair/typebox'

import { maxCount, oneOf, portNumber, struct, type Spec } from './common.js'

const text = (description: string) => Type.String({ minLength: 1, description })

/** Bounds of the Gateway API. Proxies refuse a whole configuration for a header that is too long, or for too many. */
const maxHeaders = 16
const maxHeaderName = 256
const maxHeaderValue = 4096
const maxPath = 1024

const HeaderValueSchema = struct(
  {
    name: Type.String({ minLength: 1, maxLength: maxHeaderName, description: 'Name of the header.' }),
    value: Type.String({ maxLength: maxHeaderValue, description: 'Value of the header.' }),
  },
  'A header with its value.',
)

const HeaderModifierSchema = (description: string) =>
  Type.Optional(
    struct(
      {
        set: Type.Optional(
          Type.Array(HeaderValueSchema, { maxItems: maxHeaders, description: 'Headers whose values are replaced.' }),
        ),
        add: Type.Optional(
          Type.Array(HeaderValueSchema, { maxItems: maxHeaders, description: 'Headers that get an additional value.' }),
        ),
        remove: Type.Optional(
          Type.Array(Type.String({ maxLength: maxHeaderName }), {
            maxItems: maxHeaders,
            description: 'Names of headers that are removed.',
          }),
        ),
      },
      description,
    ),
  )

/** Filters that change headers, by what each says. */
const headerModifiers = {
  requestHeaderModifier: HeaderModifierSchema('Changes of request headers.'),
  responseHeaderModifier: HeaderModifierSchema('Changes of response headers.'),
}

const PathModifierSchema = (description: string) =>
  Type.Optional(
    struct(
      {
        type: oneOf(['ReplaceFullPath', 'ReplacePrefixMatch'], 'What is replaced: the path, or its matched prefix.'),
        replaceFullPath: Type.Optional(
          Type.String({ maxLength: maxPath, description: 'The new path, with ReplaceFullPath.' }),
        ),
        replacePrefixMatch: Type.Optional(
          Type.String({ maxLength: maxPath, description: 'The new prefix, with ReplacePrefixMatch.' }),
        ),
      },
      description,
    ),
  )

/** A reference to a Service that gets traffic. */
export const BackendObjectSchema = {
  group: Type.String({ default: '', description: 'API group; only the core group is supported.' }),
  kind: Type.String({ default: 'Service', description: 'Kind; only Service is supported.' }),
  name: text('Name of the Service.'),
  namespace: Type.Optional(
    Type.String({
      description:
        'Namespace of the Service. Defaults to that of the route. Other namespaces must allow it with a ReferenceGrant.',
    }),
  ),
  port: Type.Optional(portNumber('Port of the Service; required.')),
}

const mirror = {
  requestMirror: Type.Optional(
    struct(
      {
        backendRef: struct(BackendObjectSchema, 'Service that receives copies.'),
        percent: Type.Optional(
          Type.Integer({ minimum: 0, maximum: 100, description: 'Percentage of requests to copy.' }),
        ),
        fraction: Type.Optional(
          struct(
            {
              numerator: Type.Integer({ minimum: 0, maximum: maxCount, description: 'Numerator.' }),
              denominator: Type.Integer({ minimum: 1, maximum: maxCount, default: 100, description: 'Denominator.' }),
            },
            'Fraction of requests to copy.',
          ),
        ),
      },
      'Sends copies of requests to another Service.',
    ),
  ),
}

const FilterSchema = struct(
  {
    type: Type.String({
      description:
        'RequestHeaderModifier, ResponseHeaderModifier, RequestRedirect, URLRewrite or RequestMirror. Requests of a rule with another filter are answered 500.',
    }),
    ...headerModifiers,
    requestRedirect: Type.Optional(
      struct(
        {
          scheme: Type.Optional(oneOf(['http', 'https'], 'Scheme of the redirect. Defaults to that of the request.')),
          hostname: Type.Optional(Type.String({ description: 'Host name. Defaults to that of the request.' })),
          path: PathModifierSchema('Path. Defaults to that of the request.'),
          port: Type.Optional(portNumber('Port. Defaults to that of the scheme or of the request.')),
          statusCode: Type.Integer({ default: 302, description: 'Status: 301, 302, 303, 307 or 308.' }),
        },
        'Answers requests with a redirect.',
      ),
    ),
    urlRewrite: Type.Optional(
      struct(
        {
          hostname: Type.Optional(Type.String({ description: 'New host name of requests.' })),
          path: PathModifierSchema('New path of requests.'),
        },
        'Changes host and path before requests are sent on.',
      ),
    ),
    ...mirror,
  },
  'A step in processing requests or responses.',
)

const BackendFilterSchema = struct(
  {
    type: Type.String({
      description:
        'RequestHeaderModifier or ResponseHeaderModifier. The share of a backend with another filter is answered with an error.',
    }),
    ...headerModifiers,
  },
  'A step in processing the requests or responses of one backend.',
)

const valueMatchTypes = ['Exact', 'RegularExpression'] as const
const ValueMatchSchema = (what: string) =>
  struct(
    {
      type: oneOf(valueMatchTypes, 'How values are compared. Regular expressions are RE2 and match the whole value.', {
        default: 'Exact',
      }),
      name: Type.String({ minLength: 1, maxLength: maxHeaderName, description: `Name of the ${what}.` }),
      value: Type.String({ maxLength: maxHeaderValue, description: `Value of the ${what}.` }),
    },
    `A condition on a ${what}.`,
  )

const matchedHeaders = {
  headers: Type.Optional(
    Type.Array(ValueMatchSchema('header'), { maxItems: 16, description: 'Conditions on headers; all must match.' }),
  ),
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'] as const

const MatchSchema = struct(
  {
    path: Type.Optional(
      struct(
        {
          type: oneOf(['Exact', 'PathPrefix', 'RegularExpression'], 'How the path is compared.', {
            default: 'PathPrefix',
          }),
          value: Type.String({
            default: '/',
            maxLength: maxPath,
            description: 'Path, prefix of whole segments, or RE2 expression.',
          }),
        },
        'A condition on the path.',
      ),
    ),
    ...matchedHeaders,
    queryParams: Type.Optional(
      Type.Array(ValueMatchSchema('query parameter'), {
        maxItems: 16,
        description: 'Conditions on query parameters; all must match.',
      }),
    ),
    method: Type.Optional(oneOf(methods, 'Method of the request.')),
  },
  'Conditions on a request; all must match.',
)

const ParentRefSchema = struct(
  {
    group: Type.String({
      default: 'gateway.networking.k8s.io',
      description: 'API group; the core group, written as an empty text, for a Service.',
    }),
    kind: Type.String({ default: 'Gateway', description: 'Kind. Only a Service is of the mesh.' }),
    namespace: Type.Optional(Type.String({ description: 'Namespace of the Service. Defaults to that of the route.' })),
    name: text('Name of the Service.'),
    sectionName: Type.Optional(Type.String({ description: 'Name of a port of the Service; all ports if absent.' })),
    port: Type.Optional(portNumber('Port of the Service; all ports if absent.')),
  },
  'Object that the route is attached to.',
)

/** Weight of a backend. */
export const backendWeight = (what: 'requests' | 'connections') =>
  Type.Integer({
    default: 1,
    minimum: 0,
    maximum: 1_000_000,
    description: `Share of ${what}, relative to the sum of all weights.`,
  })

const backends = {
  backendRefs: Type.Optional(
    Type.Array(
      struct(
        {
          ...BackendObjectSchema,
          weight: backendWeight('requests'),
          filters: Type.Optional(
            Type.Array(BackendFilterSchema, { maxItems: 16, description: 'Filters of this share.' }),
          ),
        },
        'A Service that receives a share of the requests.',
      ),
      { maxItems: 16, description: 'Backends of the requests. If empty, requests are answered with an error.' },
    ),
  ),
}

/** What routes of all kinds are attached to. */
export const parentRefs = Type.Array(ParentRefSchema, {
  default: [],
  maxItems: 32,
  description: 'What the route is attached to.',
})

/** What routes of requests say beside their rules. */
const attachment = {
  parentRefs,
  hostnames: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: 16,
      description: 'Ignored for Services, which are called by their own host names.',
    }),
  ),
}

/** gateway.networking.k8s.io HTTPRoute, as far as the mesh reads it. */
export const HTTPRouteSpecSchema = struct(
  {
    ...attachment,
    rules: Type.Array(
      struct(
        {
          matches: Type.Optional(
            Type.Array(MatchSchema, {
              maxItems: 64,
              description: 'Requests of the rule; one of these must match. All requests match if absent or empty.',
            }),
          ),
          filters: Type.Optional(Type.Array(FilterSchema, { maxItems: 16, description: 'Filters of the rule.' })),
          ...backends,
          timeouts: Type.Optional(
            struct(
              {
                request: Type.Optional(
                  Type.String({ description: 'Longest time until the response is complete; 0s means none.' }),
                ),
                backendRequest: Type.Optional(
                  Type.String({ description: 'The same for one attempt. Without retry, the shorter of both counts.' }),
                ),
              },
              'Timeouts of the rule.',
            ),
          ),
          retry: Type.Optional(
            struct(
              {
                codes: Type.Optional(
                  Type.Array(Type.Integer({ minimum: 400, maximum: 599, description: 'A status.' }), {
                    maxItems: 200,
                    description: 'Response statuses that cause a retry.',
                  }),
                ),
                attempts: Type.Optional(
                  Type.Integer({
                    minimum: 1,
                    maximum: maxCount,
                    description: 'Most repetitions; 1 if absent. At most 100.',
                  }),
                ),
                backoff: Type.Optional(
                  Type.String({ description: "Base of the pauses between attempts; the sidecar's own if absent." }),
                ),
              },
              'Retries of requests of the rule. Requests without a response are always retried.',
            ),
          ),
        },
        'What happens to some requests.',
      ),
      { default: [{}], maxItems: 16, description: 'Rules of the route.' },
    ),
  },
  'Routes HTTP requests to a Service of the mesh.',
)

const MethodMatchSchema = struct(
  {
    type: oneOf(
      valueMatchTypes,
      'How service and method are compared. Regular expressions are RE2 and match all of it.',
      {
        default: 'Exact',
      },
    ),
    service: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: 'Service with its package, such as shop.Books; any if absent or empty.',
      }),
    ),
    method: Type.Optional(Type.String({ maxLength: 1024, description: 'Method; any if absent or empty.' })),
  },
  'A condition on service and method. At least one of both is required.',
)

const CallMatchSchema = struct(
  { method: Type.Optional(MethodMatchSchema), ...matchedHeaders },
  'Conditions on a call; all must match.',
)

const CallFilterSchema = struct(
  {
    type: Type.String({
      description:
        'RequestHeaderModifier, ResponseHeaderModifier or RequestMirror. Calls of a rule with another filter are answered with status UNAVAILABLE.',
    }),
    ...headerModifiers,
    ...mirror,
  },
  'A step in processing calls or their answers.',
)

/** gateway.networking.k8s.io GRPCRoute, as far as the mesh reads it. */
export const GRPCRouteSpecSchema = struct(
  {
    ...attachment,
    rules: Type.Array(
      struct(
        {
          matches: Type.Optional(
            Type.Array(CallMatchSchema, {
              maxItems: 64,
              description: 'Calls of the rule; one of these must match. All calls match if absent or empty.',
            }),
          ),
          filters: Type.Optional(Type.Array(CallFilterSchema, { maxItems: 16, description: 'Filters of the rule.' })),
          ...backends,
        },
        'What happens to some calls.',
      ),
      { default: [{}], maxItems: 16, description: 'Rules of the route.' },
    ),
  },
  'Routes gRPC calls to a Service of the mesh.',
)

/** Spec of an HTTPRoute. */
export type HTTPRouteSpec = Spec<typeof HTTPRouteSpecSchema>
/** A rule of an HTTPRoute. */
export type HTTPRouteRule = HTTPRouteSpec['rules'][number]
/** A match of an HTTPRoute. */
export type HTTPRouteMatch = NonNullable<HTTPRouteRule['matches']>[number]
/** A filter of an HTTPRoute. */
export type HTTPRouteFilter = NonNullable<HTTPRouteRule['filters']>[number]
/** A reference to a backend in a route. */
export type HTTPBackendRef = NonNullable<HTTPRouteRule['backendRefs']>[number]
/** Spec of a GRPCRoute. */
export type GRPCRouteSpec = Spec<typeof GRPCRouteSpecSchema>
/** A rule of a GRPCRoute. */
export type GRPCRouteRule = GRPCRouteSpec['rules'][number]
/** A match of a GRPCRoute. */
export type GRPCRouteMatch = NonNullable<GRPCRouteRule['matches']>[number]
