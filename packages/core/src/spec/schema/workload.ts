import { Type } from '@sinclair/typebox'

import { mapOf, oneOf, portNumber, struct, type Spec } from './common.js'
import { ProbesSchema } from './probe.js'
import { workloadNetwork } from './workload-network.js'

const WorkloadPortSchema = struct(
  {
    name: Type.Optional(
      Type.String({ minLength: 1, maxLength: 15, description: 'Name that targetPort of a Service may use.' }),
    ),
    port: portNumber('Port of the workload as Services see it.'),
    localPort: Type.Optional(portNumber('Port that the process listens on. Defaults to port.')),
  },
  'A port of the workload.',
)

/** standalone.openservicemesh.io Workload: what a Deployment is in a cluster. */
export const WorkloadSpecSchema = struct(
  {
    serviceAccountName: Type.String({ default: 'default', minLength: 1, description: 'Identity of the workload.' }),
    replicas: Type.Integer({ default: 1, minimum: 0, maximum: 1000, description: 'Number of instances.' }),
    ports: Type.Array(WorkloadPortSchema, { default: [], description: 'Ports of the workload.' }),
    command: Type.Optional(Type.Array(Type.String(), { minItems: 1, description: 'Program and first arguments.' })),
    args: Type.Optional(Type.Array(Type.String(), { description: 'Further arguments.' })),
    env: Type.Array(
      struct(
        {
          name: Type.String({ minLength: 1, pattern: '^[^=]+$', description: 'Name of the variable.' }),
          value: Type.String({ default: '', description: 'Value of the variable.' }),
        },
        'An environment variable.',
      ),
      { default: [], description: 'Environment of the process.' },
    ),
    workingDir: Type.Optional(
      Type.String({ minLength: 1, description: 'Working directory, relative to the file of the object.' }),
    ),
    restartPolicy: oneOf(['Always', 'OnFailure', 'Never'], 'Restart policy of the process.', { default: 'Always' }),
    probes: Type.Optional(ProbesSchema),
    address: Type.Optional(
      Type.String({ minLength: 1, description: 'Address of an external workload that is not started here.' }),
    ),
    sidecar: Type.Boolean({
      default: true,
      description:
        'False: the workload has no sidecar. The mesh can call it only if traffic.plaintextNamespaces of the MeshConfig includes its namespace.',
    }),
    sidecarClass: Type.Optional(
      Type.String({ minLength: 1, description: 'Sidecar class. Defaults to that of MeshConfig.' }),
    ),
  },
  'A program in the mesh. Services select it by its labels.',
)
/** Spec of a Workload. */
export type WorkloadSpec = Spec<typeof WorkloadSpecSchema>
/** One port of a Workload. */
export type WorkloadPort = WorkloadSpec['ports'][number]

const ListenAddressSchema = (description: string) =>
  struct(
    {
      address: Type.String({ minLength: 1, description: 'IP address.' }),
      port: portNumber('Port.'),
    },
    description,
  )

/** A probe that the sidecar answers for a container. */
export const ProbeBindingSchema = struct(
  {
    container: Type.String({ minLength: 1, description: 'Container of the probe.' }),
    probe: oneOf(['liveness', 'readiness', 'startup'], 'Kind of the probe.'),
    port: portNumber('Port on which the sidecar answers.'),
    path: Type.String({ pattern: '^/[^?#]*$', description: 'Path of its endpoint, without query.' }),
    target: struct(
      {
        type: oneOf(['http', 'https', 'tcp', 'grpc'], 'Protocol of the probe.'),
        port: portNumber('Port of the workload; none of the sidecar.'),
        path: Type.Optional(Type.String({ description: 'Path with query, for http and https.' })),
        headers: Type.Optional(
          Type.Array(
            struct(
              {
                name: Type.String({ minLength: 1, description: 'Header name.' }),
                value: Type.String({ description: 'Header value.' }),
              },
              'A header.',
            ),
            { description: 'Headers of the request, for http and https.' },
          ),
        ),
        service: Type.Optional(Type.String({ description: 'Service of the gRPC health protocol.' })),
      },
      'Original probe of the workload.',
    ),
    timeoutMs: Type.Integer({ minimum: 1, description: 'Milliseconds until an unanswered probe counts as failed.' }),
  },
  'A probe that the sidecar answers for a container.',
)
/** A probe that the sidecar answers for a container. */
export type InstanceProbeBinding = Spec<typeof ProbeBindingSchema>

/**
 * standalone.openservicemesh.io WorkloadInstance: what a Pod is in a cluster. Written by the supervisor, never by
 * users.
 */
export const WorkloadInstanceSpecSchema = struct(
  {
    uuid: Type.String({
      pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
      description: 'Identifies the sidecar.',
    }),
    workload: Type.String({ minLength: 1, description: 'Name of the Workload, in the namespace of the instance.' }),
    serviceAccountName: Type.String({ minLength: 1, description: 'Identity of the workload.' }),
    sidecarClass: Type.String({ minLength: 1, description: 'Sidecar class of the instance.' }),
    mode: oneOf(
      ['transparent', 'explicit'],
      'Interception mode: traffic is redirected, or the workload is configured with addresses.',
    ),
    hostname: Type.Optional(
      Type.String({ minLength: 1, description: 'Name of the instance under a headless service.' }),
    ),
    addresses: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, description: 'IP addresses of the instance.' }),
    ports: Type.Array(WorkloadPortSchema, { default: [], description: 'Ports of the workload.' }),
    allocations: Type.Optional(
      struct(
        {
          inbound: mapOf(
            ListenAddressSchema('Address for connections.'),
            'Listener of the sidecar by namespace/service|port.',
            { default: {} },
          ),
          ingress: Type.Optional(
            mapOf(
              ListenAddressSchema('Address for connections from outside the mesh.'),
              'Listener of the sidecar by namespace/service|port, the port being that of the workload.',
            ),
          ),
          outboundHttp: Type.Optional(ListenAddressSchema('Address of the forward proxy for HTTP.')),
          outboundTcp: mapOf(
            ListenAddressSchema('Address for outbound connections.'),
            'Local listener by upstream namespace/service|port.',
            { default: {} },
          ),
          metrics: Type.Optional(ListenAddressSchema('Address of the metrics endpoint.')),
          admin: Type.Optional(ListenAddressSchema('Address of the administration interface.')),
        },
        'Addresses of the sidecar in explicit mode.',
      ),
    ),
    probes: Type.Optional(ProbesSchema),
    probeBindings: Type.Optional(
      Type.Array(ProbeBindingSchema, {
        description: 'Rewritten probes that the sidecar answers. Replaces probes.',
      }),
    ),
    ready: Type.Boolean({ default: false, description: 'True: the instance accepts traffic.' }),
    ended: Type.Optional(
      Type.Boolean({ description: 'True: the workload has terminated and waits for its sidecar to exit.' }),
    ),
    serviceCredential: Type.Optional(
      oneOf(['workload-api'], 'Source of the service certificate of the sidecar, if it is not the mesh.'),
    ),
    createdAt: Type.String({ description: 'Creation time of the instance, RFC 3339.' }),
    isMachine: Type.Optional(
      Type.Boolean({ description: 'True: a machine that has joined, and says itself what its address is.' }),
    ),
    network: Type.Optional(workloadNetwork()),
  },
  'A running instance of a Workload.',
)
/** Spec of a WorkloadInstance. */
export type WorkloadInstanceSpec = Spec<typeof WorkloadInstanceSpecSchema>
