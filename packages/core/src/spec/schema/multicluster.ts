import { Type } from '@sinclair/typebox'

import { oneOf, portNumber, struct, type Spec } from './common.js'

/** flomesh.io ServiceExport. */
export const ServiceExportSpecSchema = struct(
  {
    pathRewrite: Type.Optional(
      struct(
        {
          from: Type.Optional(Type.String({ description: 'Expression for the replaced part.' })),
          to: Type.Optional(Type.String({ description: 'Replacement.' })),
        },
        'Rewrite of the path.',
      ),
    ),
    sessionSticky: Type.Optional(Type.Boolean({ description: 'True: requests of a client go to the same endpoint.' })),
    loadBalancer: oneOf(['RoundRobinLoadBalancer', 'HashingLoadBalancer', 'LeastWorkLoadBalancer'], 'Balancing.', {
      default: 'RoundRobinLoadBalancer',
    }),
    rules: Type.Optional(
      Type.Array(
        struct(
          {
            portNumber: Type.Optional(portNumber('Port of the service.')),
            path: Type.Optional(Type.String({ description: 'Path of the service at the gateway.' })),
            pathType: oneOf(['Exact', 'Prefix'], 'Type of the path match.'),
          },
          'A path of the gateway.',
        ),
        { minItems: 1, description: 'Paths of the gateway.' },
      ),
    ),
    targetClusters: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Clusters that import the service, as region/zone/group/cluster. Defaults to all.',
      }),
    ),
    serviceAccountName: Type.Optional(Type.String({ description: 'Identity of the service.' })),
  },
  'Exports the service of the same name to other clusters.',
)
/** Spec of a ServiceExport. */
export type ServiceExportSpec = Spec<typeof ServiceExportSpecSchema>

/** flomesh.io ServiceImport. */
export const ServiceImportSpecSchema = struct(
  {
    ports: Type.Array(
      struct(
        {
          name: Type.Optional(Type.String({ description: 'Name of the port.' })),
          protocol: Type.String({ default: 'TCP', description: 'Transport protocol.' }),
          appProtocol: Type.Optional(Type.String({ description: 'Application protocol.' })),
          port: portNumber('Port that clients connect to.'),
          endpoints: Type.Array(
            struct(
              {
                clusterKey: Type.String({ description: 'Cluster of the endpoint, as region/zone/group/cluster.' }),
                target: struct(
                  {
                    host: Type.String({ description: 'Host name of the gateway.' }),
                    ip: Type.String({ description: 'Address of the gateway.' }),
                    port: portNumber('Port of the gateway.'),
                    path: Type.String({ description: 'Path of the service at the gateway.' }),
                  },
                  'Gateway to the endpoint.',
                ),
              },
              'An endpoint in another cluster.',
            ),
            { default: [], description: 'Endpoints in other clusters.' },
          ),
        },
        'A port of the service.',
      ),
      { description: 'Ports of the service.' },
    ),
    ips: Type.Optional(Type.Array(Type.String(), { maxItems: 1, description: 'Virtual address.' })),
    type: Type.Optional(oneOf(['ClusterSetIP', 'Headless'], 'Type of the service.')),
    sessionAffinity: Type.Optional(Type.String({ description: 'ClientIP or None.' })),
    sessionAffinityConfig: Type.Optional(
      struct(
        {
          clientIP: Type.Optional(
            struct(
              { timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86400, description: 'Seconds.' })) },
              'Affinity by client address.',
            ),
          ),
        },
        'Details of the affinity.',
      ),
    ),
    serviceAccountName: Type.Optional(Type.String({ description: 'Identity of the service; * for any.' })),
  },
  'A service that other clusters export.',
)
/** Spec of a ServiceImport. */
export type ServiceImportSpec = Spec<typeof ServiceImportSpecSchema>

/** flomesh.io GlobalTrafficPolicy. */
export const GlobalTrafficPolicySpecSchema = struct(
  {
    lbType: oneOf(['Locality', 'ActiveActive', 'FailOver'], 'Distribution of traffic between clusters.', {
      default: 'Locality',
    }),
    targets: Type.Optional(
      Type.Array(
        struct(
          {
            clusterKey: Type.String({ description: 'Cluster, as region/zone/group/cluster.' }),
            weight: Type.Optional(Type.Integer({ minimum: 0, description: 'Share of the traffic.' })),
          },
          'A cluster.',
        ),
        { description: 'Clusters that receive traffic.' },
      ),
    ),
  },
  'Distributes the traffic of the service of the same name between clusters.',
)
/** Spec of a GlobalTrafficPolicy. */
export type GlobalTrafficPolicySpec = Spec<typeof GlobalTrafficPolicySpecSchema>
