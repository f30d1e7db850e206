import { Type } from '@sinclair/typebox'

import { oneOf, portNumber, portOrName, struct, textMap, type Spec } from './common.js'

/** Namespaces are read for their labels and annotations only. */
export const NamespaceSpecSchema = struct(
  {},
  'A namespace. Enrolment and injection are decided by its labels and annotations.',
)
/** Service accounts are read for their names only. */
export const ServiceAccountSpecSchema = struct({}, 'A service account: the identity of workloads.')
const ServicePortSchema = struct(
  {
    name: Type.Optional(
      Type.String({ description: 'Name of the port; its prefix chooses the protocol where appProtocol is absent.' }),
    ),
    port: portNumber('Port that clients connect to.'),
    targetPort: Type.Optional(portOrName('Port of the workload, by number or by name. Defaults to port.')),
    protocol: oneOf(['TCP', 'UDP', 'SCTP'], 'Transport protocol. The mesh supports TCP only.', { default: 'TCP' }),
    appProtocol: Type.Optional(
      Type.String({
        description:
          'Application protocol: http, http2, grpc, tcp, tcp-server-first, https, or a name of Kubernetes such as kubernetes.io/h2c. An unknown protocol is treated as tcp.',
      }),
    ),
  },
  'One port of the service.',
)

/** Annotations of Services from before trafficDistribution: `Auto` prefers endpoints close to the client. */
export const topologyAnnotations = [
  'service.kubernetes.io/topology-mode',
  'service.kubernetes.io/topology-aware-hints',
] as const

/** Seconds of affinity that Kubernetes writes into every Service with ClientIP. */
export const DEFAULT_AFFINITY_SECONDS = 10_800

/** The part of core/v1 Service that the mesh reads. */
export const ServiceSpecSchema = struct(
  {
    selector: Type.Optional(textMap('Labels of the workloads behind the service.')),
    ports: Type.Array(ServicePortSchema, { default: [], description: 'Ports of the service.' }),
    type: Type.Optional(oneOf(['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'], 'Type of the service.')),
    clusterIP: Type.Optional(Type.String({ description: 'Virtual address, or None for a headless service.' })),
    clusterIPs: Type.Optional(Type.Array(Type.String(), { description: 'Virtual addresses of both IP families.' })),
    externalName: Type.Optional(Type.String({ description: 'DNS name behind a service of type ExternalName.' })),
    trafficDistribution: Type.Optional(
      Type.String({
        description:
          'PreferClose or PreferSameZone: endpoints in the zone of the client first. PreferSameNode is treated as PreferSameZone and reported.',
      }),
    ),
    publishNotReadyAddresses: Type.Optional(
      Type.Boolean({ description: 'True: endpoints are used before they are ready.' }),
    ),
    sessionAffinity: Type.Optional(
      Type.String({
        description:
          'ClientIP: requests of a client go to the same endpoint while the endpoints do not change. None: no affinity.',
      }),
    ),
    sessionAffinityConfig: Type.Optional(
      struct(
        {
          clientIP: Type.Optional(
            struct(
              {
                timeoutSeconds: Type.Optional(
                  Type.Integer({
                    description:
                      'Has no effect, because session affinity does not expire in the mesh; values other than 10800 are reported.',
                  }),
                ),
              },
              'Duration of the affinity.',
            ),
          ),
        },
        'Settings of sessionAffinity.',
      ),
    ),
    internalTrafficPolicy: Type.Optional(
      Type.String({ description: 'Local has no effect, because the mesh does not consider nodes; it is reported.' }),
    ),
  },
  'A named group of workloads behind one or more ports.',
)
/** Spec of a Service. */
export type ServiceSpec = Spec<typeof ServiceSpecSchema>
/** One port of a Service. */
export type ServicePort = ServiceSpec['ports'][number]
