import { Type } from '@sinclair/typebox'

import { portNumber, struct } from './common.js'

/** A gateway that passes TLS on by server name. */
export function networkGateway(description: string) {
  return struct(
    {
      address: Type.String({ minLength: 2, maxLength: 45, description: 'IP address of the gateway.' }),
      port: Type.Optional(
        portNumber('One port of the gateway for all connections. Defaults to the port of the Service that is called.'),
      ),
    },
    description,
  )
}

/** The network of a workload. */
export function workloadNetwork() {
  return struct(
    {
      name: Type.String({
        pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
        maxLength: 63,
        description: 'Name of the network. Workloads of one network reach each other by their own addresses.',
      }),
      gateway: Type.Optional(
        networkGateway(
          'Passes connections of others on to the workload, by the server name of its Service and without ending TLS. Absent: others connect to the workload itself. Addresses are refused as those of workloads are.',
        ),
      ),
    },
    'The network that the workload is in, if it is not that of the mesh.',
  )
}
