import { Type } from '@sinclair/typebox'

import { duration, maxCount, oneOf, portNumber, secretRef, struct, typedReferences, type Spec } from './common.js'

/** policy.openservicemesh.io Egress. */
export const EgressSpecSchema = struct(
  {
    sources: Type.Array(
      struct(
        {
          kind: oneOf(['ServiceAccount'], 'Kind of the source.'),
          name: Type.String({ minLength: 1, description: 'Name of the service account.' }),
          namespace: Type.String({ minLength: 1, description: 'Namespace of the service account.' }),
          mtls: Type.Optional(
            struct(
              {
                issuer: oneOf(['osm', 'other'], 'Issuer of the client certificate.'),
                cert: Type.Optional(
                  struct(
                    {
                      sn: Type.Integer({ minimum: 1, description: 'Serial number of the certificate.' }),
                      subjectAltNames: Type.Optional(
                        Type.Array(Type.String(), { description: 'Names expected in the server certificate.' }),
                      ),
                      expiration: Type.String({ description: 'Expiration time, RFC 3339.' }),
                      secret: secretRef('Secret with ca.crt, tls.crt and tls.key.'),
                    },
                    'The certificate of another issuer.',
                  ),
                ),
              },
              'Originates TLS with a client certificate towards the destination.',
            ),
          ),
        },
        'Service accounts that may use this policy.',
      ),
      { description: 'Service accounts that may use this policy.' },
    ),
    hosts: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), { description: 'External hosts, for protocols http and https.' }),
    ),
    ipAddresses: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description: 'External address ranges in CIDR form, for protocol tcp.',
      }),
    ),
    ports: Type.Array(
      struct(
        {
          number: portNumber('Port of the destination.'),
          protocol: Type.String({ description: 'http, https, tcp or tcp-server-first.' }),
        },
        'A port of the destination.',
      ),
      { description: 'Ports of the destination.' },
    ),
    matches: Type.Optional(
      typedReferences('HTTPRouteGroups that limit the requests, and at most one UpstreamTrafficSetting.'),
    ),
  },
  'Allows traffic from the mesh to destinations outside.',
)
/** Spec of an Egress. */
export type EgressSpec = Spec<typeof EgressSpecSchema>

const accessProperties = {
  backends: Type.Array(
    struct(
      {
        name: Type.String({
          minLength: 1,
          description: 'Name of the backend service, in the namespace of this object.',
        }),
        port: struct(
          {
            number: portNumber('Port of the workloads behind the service.'),
            protocol: Type.String({ description: 'http, https or grpc.' }),
          },
          'Port and protocol of the backend.',
        ),
        tls: Type.Optional(
          struct(
            {
              skipClientCertValidation: Type.Boolean({
                default: false,
                description: 'True: clients need no certificate.',
              }),
              sniHosts: Type.Optional(
                Type.Array(Type.String(), { description: 'Server names (SNI) that clients may use.' }),
              ),
            },
            'TLS towards the backend, for protocol https.',
          ),
        ),
      },
      'A service that accepts callers from outside the mesh.',
    ),
    { description: 'Services that accept callers from outside the mesh.' },
  ),
  sources: Type.Array(
    struct(
      {
        kind: oneOf(['Service', 'AuthenticatedPrincipal', 'IPRange'], 'Kind of the source.'),
        name: Type.String({ minLength: 1, description: 'Name of the service, the principal, or the CIDR range.' }),
        namespace: Type.Optional(Type.String({ description: 'Namespace of the service.' })),
      },
      'Allowed callers.',
    ),
    { description: 'Allowed callers.' },
  ),
  matches: Type.Optional(
    typedReferences('HTTPRouteGroups that limit the allowed requests. If absent or empty, all requests are allowed.'),
  ),
}

/** policy.openservicemesh.io IngressBackend. */
export const IngressBackendSpecSchema = struct(accessProperties, 'Allows an ingress gateway to call services.')
/** Spec of an IngressBackend. */
export type IngressBackendSpec = Spec<typeof IngressBackendSpecSchema>

/** policy.openservicemesh.io AccessControl. */
export const AccessControlSpecSchema = struct(accessProperties, 'Allows clients without a sidecar to call services.')
/** Spec of an AccessControl. */
export type AccessControlSpec = Spec<typeof AccessControlSpecSchema>

/** policy.openservicemesh.io AccessCert. */
export const AccessCertSpecSchema = struct(
  {
    subjectAltNames: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      maxItems: 1,
      description: 'The name in the certificate.',
    }),
    secret: secretRef('Secret for the certificate.'),
    matches: Type.Optional(typedReferences('Accepted for compatibility; ignored.')),
  },
  'Issues a certificate of the mesh to a client outside it.',
)
/** Spec of an AccessCert. */
export type AccessCertSpec = Spec<typeof AccessCertSpecSchema>

const RetryRefSchema = (kind: string) =>
  struct(
    {
      kind: Type.String({ description: `Kind: ${kind}.` }),
      name: Type.String({ minLength: 1, description: `Name of the ${kind}.` }),
      namespace: Type.String({ minLength: 1, description: `Namespace of the ${kind}.` }),
    },
    `A ${kind}.`,
  )

/** policy.openservicemesh.io Retry. */
export const RetrySpecSchema = struct(
  {
    source: RetryRefSchema('ServiceAccount'),
    destinations: Type.Array(RetryRefSchema('Service'), {
      description: 'Destination services of the retried requests.',
    }),
    retryPolicy: struct(
      {
        retryOn: Type.String({
          minLength: 1,
          description: 'Conditions, comma-separated, such as 5xx,connect-failure.',
        }),
        perTryTimeout: duration('Timeout of each attempt.'),
        numRetries: Type.Integer({ minimum: 0, maximum: maxCount, description: 'Maximum number of retries.' }),
        retryBackoffBaseInterval: duration('Base interval of the backoff between attempts.'),
      },
      'Conditions and limits of retries.',
    ),
  },
  'Retries requests of one identity to some services.',
)
/** Spec of a Retry. */
export type RetrySpec = Spec<typeof RetrySpecSchema>

const gatewayList = (description: string) =>
  Type.Array(
    struct(
      {
        service: Type.String({ minLength: 1, description: 'Service of the gateway.' }),
        namespace: Type.String({ minLength: 1, description: 'Namespace of the gateway service.' }),
        weight: Type.Optional(
          Type.Number({ minimum: 0, description: 'Share of the traffic, relative to the others.' }),
        ),
      },
      'A gateway.',
    ),
    { description },
  )

/** policy.openservicemesh.io EgressGateway. */
export const EgressGatewaySpecSchema = struct(
  {
    global: Type.Optional(gatewayList('Gateways for all egress traffic without a matching rule.')),
    rules: Type.Optional(
      Type.Array(
        struct(
          {
            egressPolicies: Type.Array(
              struct(
                {
                  name: Type.String({ minLength: 1, description: 'Name of the Egress.' }),
                  namespace: Type.String({ minLength: 1, description: 'Namespace of the Egress.' }),
                },
                'An Egress policy.',
              ),
              { description: 'Egress policies that use these gateways.' },
            ),
            egressGateways: gatewayList('Gateways for the traffic.'),
          },
          'Gateways for some Egress policies.',
        ),
        { description: 'Gateways by Egress policy.' },
      ),
    ),
    matches: Type.Optional(typedReferences('Accepted for compatibility; ignored.')),
  },
  'Sends egress traffic through gateway workloads.',
)
/** Spec of an EgressGateway. */
export type EgressGatewaySpec = Spec<typeof EgressGatewaySpecSchema>
