import { Type } from '@sinclair/typebox'

import { oneOf, portNumber, struct, textMap, type Spec } from './common.js'

const IdentityRefSchema = (description: string) =>
  struct(
    {
      kind: Type.String({ description: 'Kind of the identity; ServiceAccount is the one that exists.' }),
      name: Type.String({ minLength: 1, description: 'Name of the service account.' }),
      namespace: Type.Optional(
        Type.String({ description: 'Namespace of the service account; that of the TrafficTarget when absent.' }),
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
          portNumber(
            'Only in v1alpha1 and v1alpha2: access is limited to this port. Later versions say it with a TCPRoute.',
          ),
        ),
      },
      'Identity that is accessed. Its namespace must be the one of the TrafficTarget.',
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
              description: 'Names of matches of the HTTPRouteGroup; all of them when absent.',
            }),
          ),
        },
        'Traffic that is allowed.',
      ),
      { default: [], description: 'What is allowed; at least one rule is needed.' },
    ),
    sources: Type.Array(IdentityRefSchema('An identity that gets access.'), {
      default: [],
      description: 'Who gets access.',
    }),
  },
  'Allows sources to reach a destination on the routes that its rules name.',
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
            Type.String({ description: 'RE2 expression that must match the whole path; any path when absent.' }),
          ),
          methods: Type.Optional(
            Type.Array(oneOf(httpMethods, 'An HTTP method, or * for any.'), {
              description: 'Methods that match; any when absent or empty.',
            }),
          ),
          headers: Type.Optional(
            Type.Array(textMap('One header name with the RE2 expression its whole value must match.'), {
              description: 'Headers that must all match. Every entry holds one name; of equal names the last holds.',
            }),
          ),
        },
        'One kind of request.',
      ),
      { description: 'Kinds of requests.' },
    ),
  },
  'Names kinds of HTTP requests for TrafficTargets, TrafficSplits and Egress policies.',
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
        'Which connections match; all when absent.',
      ),
    ),
  },
  'Names TCP connections for TrafficTargets.',
)
/** Spec of a TCPRoute. */
export type TCPRouteSpec = Spec<typeof TCPRouteSpecSchema>

/** split.smi-spec.io TrafficSplit. */
export const TrafficSplitSpecSchema = struct(
  {
    service: Type.String({
      minLength: 1,
      description: 'Apex service whose traffic is split. May be the host name of the service; its first label counts.',
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
        'A service that gets a share.',
      ),
      { default: [], description: 'Services that share the traffic; at least one is needed.' },
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
        { description: 'Limits the split to these requests; all when absent or empty.' },
      ),
    ),
  },
  'Shares the traffic of one service among several.',
)
/** Spec of a TrafficSplit. */
export type TrafficSplitSpec = Spec<typeof TrafficSplitSpecSchema>
