import { Type } from '@sinclair/typebox'

import { oneOf, portNumber, struct, textMap, type Spec } from './common.js'

const IdentityRefSchema = (description: string) =>
  struct(
    {
      kind: Type.String({ description: 'Kind of the identity; only ServiceAccount is supported.' }),
      name: Type.String({ minLength: 1, description: 'Name of the service account.' }),
      namespace: Type.Optional(
        Type.String({ description: 'Namespace of the service account. Defaults to that of the TrafficTarget.' }),
      ),
    },
    description,
  )

/** access.smi-spec.io TrafficTarget. */
export const TrafficTargetSpecSchema = struct(
  {
    destination: struct(
      {
        ...IdentityRefSchema('').properties,
        port: Type.Optional(
          portNumber('Only in v1alpha1 and v1alpha2: limits access to this port. Later versions use a TCPRoute.'),
        ),
      },
      'Identity of the destination. Its namespace must be that of the TrafficTarget.',
    ),
    rules: Type.Array(
      struct(
        {
          kind: Type.String({ description: 'HTTPRouteGroup or TCPRoute.' }),
          name: Type.String({
            minLength: 1,
            description: 'Name of the route object, in the namespace of the TrafficTarget.',
          }),
          matches: Type.Optional(
            Type.Array(Type.String(), {
              description: 'Names of matches of the HTTPRouteGroup. Defaults to all of them.',
            }),
          ),
        },
        'Allowed traffic.',
      ),
      { default: [], description: 'Allowed traffic; at least one rule is required.' },
    ),
    sources: Type.Array(IdentityRefSchema('An allowed identity.'), {
      default: [],
      description: 'Allowed identities.',
    }),
  },
  'Allows sources to call a destination on the routes in its rules.',
)
/** Spec of a TrafficTarget. */
export type TrafficTargetSpec = Spec<typeof TrafficTargetSpecSchema>

const httpMethods = ['*', 'GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'] as const

/** specs.smi-spec.io HTTPRouteGroup. */
export const HTTPRouteGroupSpecSchema = struct(
  {
    matches: Type.Array(
      struct(
        {
          name: Type.String({ minLength: 1, description: 'Name that TrafficTargets refer to.' }),
          pathRegex: Type.Optional(
            Type.String({ description: 'RE2 expression that must match the whole path. Defaults to any path.' }),
          ),
          methods: Type.Optional(
            Type.Array(oneOf(httpMethods, 'An HTTP method, or * for any.'), {
              description: 'Methods that match. Defaults to all methods.',
            }),
          ),
          headers: Type.Optional(
            Type.Array(textMap('A header name with an RE2 expression that must match the whole value.'), {
              description:
                'Headers that must all match. Each entry has one name. If a name occurs several times, the last entry is used.',
            }),
          ),
        },
        'A named set of requests.',
      ),
      { description: 'Named sets of requests.' },
    ),
  },
  'Named sets of HTTP requests for TrafficTargets, TrafficSplits and Egress policies.',
)
/** Spec of an HTTPRouteGroup. */
export type HTTPRouteGroupSpec = Spec<typeof HTTPRouteGroupSpecSchema>
/** One match of an HTTPRouteGroup. */
export type HTTPMatch = HTTPRouteGroupSpec['matches'][number]

/** specs.smi-spec.io TCPRoute. */
export const TCPRouteSpecSchema = struct(
  {
    matches: Type.Optional(
      struct(
        { ports: Type.Array(portNumber('A destination port.'), { description: 'Destination ports; any when empty.' }) },
        'Connections that match. Defaults to all.',
      ),
    ),
  },
  'Named TCP connections for TrafficTargets.',
)
/** Spec of a TCPRoute. */
export type TCPRouteSpec = Spec<typeof TCPRouteSpecSchema>

/** split.smi-spec.io TrafficSplit. */
export const TrafficSplitSpecSchema = struct(
  {
    service: Type.String({
      minLength: 1,
      description: 'Apex service whose traffic is split. May be the host name of the service; its first label is used.',
    }),
    backends: Type.Array(
      struct(
        {
          service: Type.String({ minLength: 1, description: 'Service in the namespace of the split.' }),
          weight: Type.Integer({
            minimum: 0,
            description: 'Share of the traffic, relative to the sum of all weights.',
          }),
        },
        'A service that receives a share of the traffic.',
      ),
      { default: [], description: 'Services that share the traffic; at least one is required.' },
    ),
    matches: Type.Optional(
      Type.Array(
        struct(
          {
            kind: oneOf(['HTTPRouteGroup'], 'Kind of the route object.'),
            name: Type.String({
              minLength: 1,
              description: 'Name of the HTTPRouteGroup, in the namespace of the split.',
            }),
          },
          'Requests that the split applies to.',
        ),
        { description: 'Limits the split to these requests. Defaults to all requests.' },
      ),
    ),
  },
  'Splits the traffic of one service among several.',
)
/** Spec of a TrafficSplit. */
export type TrafficSplitSpec = Spec<typeof TrafficSplitSpecSchema>
