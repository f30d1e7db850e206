import type { CustomResource, Instance, InstancePort, JsonObject, JsonValue, ServiceName } from '@osm-ts/endpoints-api'

import type { CloudInstance } from './cloud.js'

const name = { type: 'string', minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }

/** Properties of `spec` that say how selected machines serve a Service; the same for every cloud. */
export const serviceProperties: JsonObject = {
  service: { ...name, description: 'Service that gets the machines as endpoints, in the namespace of the object.' },
  serviceAccount: {
    ...name,
    maxLength: 253,
    pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
    description: 'Service account of the process on the machines.',
  },
  sidecar: {
    type: 'object',
    description: 'Present if a sidecar of the mesh runs on each machine.',
    properties: {
      class: { type: 'string', minLength: 1, maxLength: 63, description: 'Default: the default class of the mesh.' },
    },
  },
  weight: { type: 'integer', minimum: 0, maximum: 1000, description: 'Weight of each machine. Default: 100.' },
  ports: {
    type: 'array',
    maxItems: 16,
    description: 'Ports of the machines by name, if they differ from the targetPort of the Service.',
    items: {
      type: 'object',
      required: ['name', 'port'],
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 63 },
        port: { type: 'integer', minimum: 1, maximum: 65_535 },
      },
    },
  },
}

/** The Service that an object names. */
export function serviceOf({ namespace, spec }: CustomResource): ServiceName {
  return { namespace, name: spec.service as string } // the schema demands it
}

/** An instance of the service of an object. The schema has decided about the types of its fields. */
export function instanceOf({ spec }: CustomResource, { id, addresses, running, locality }: CloudInstance): Instance {
  return {
    id,
    addresses,
    ready: running,
    locality,
    ...present('serviceAccount', spec.serviceAccount as string | undefined),
    ...present('weight', spec.weight as number | undefined),
    ...present('ports', spec.ports as readonly (InstancePort & JsonValue)[] | undefined),
    ...present('sidecar', spec.sidecar as { readonly class?: string } | undefined),
  }
}

function present<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [key]: value } as Record<K, V>)
}
