import { Type } from '@sinclair/typebox'

import { portNumber, struct } from './common.js'
import { workloadNetwork } from './workload-network.js'

/** policy.openservicemesh.io ExternalWorkload: a machine, or a process on one, that runs outside the cluster. */
export const ExternalWorkloadSpecSchema = struct(
  {
    addresses: Type.Array(Type.String({ minLength: 2, maxLength: 45 }), {
      minItems: 1,
      maxItems: 8,
      description:
        'IP addresses of the workload; sidecars connect to the first permitted one. Loopback, link-local, metadata and Service addresses are refused.',
    }),
    ports: Type.Array(
      struct(
        {
          name: Type.String({
            minLength: 1,
            maxLength: 63,
            description: 'Name of a port of the Service, or of its targetPort.',
          }),
          port: portNumber('Port that the process listens on.'),
        },
        'A named port.',
      ),
      {
        default: [],
        maxItems: 32,
        description: 'Ports of the workload that differ from the targetPort of the Service, or named target ports.',
      },
    ),
    serviceAccount: Type.String({
      default: 'default',
      minLength: 1,
      maxLength: 253,
      description: 'Service account of the workload: its identity, in the namespace of the object.',
    }),
    service: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 63,
        description:
          'Service of the workload, in the namespace of the object. Defaults to all Services that select its labels.',
      }),
    ),
    weight: Type.Integer({
      default: 100,
      minimum: 0,
      maximum: 1000,
      description: 'Share of the traffic among the endpoints of the Service. A pod has 100.',
    }),
    ready: Type.Boolean({ default: true, description: 'False: the workload takes no new connections.' }),
    sidecar: Type.Optional(
      struct(
        {
          class: Type.Optional(
            Type.String({ minLength: 1, maxLength: 63, description: 'Sidecar class. Defaults to that of MeshConfig.' }),
          ),
        },
        'Sidecar of the workload. Absent: the workload is outside the mesh. Sidecars then call it in plaintext, if traffic.plaintextNamespaces of the MeshConfig includes its namespace.',
      ),
    ),
    network: Type.Optional(workloadNetwork()),
  },
  'A machine or process outside the cluster that is an endpoint of Services. Services of its namespace select it by its labels.',
)
