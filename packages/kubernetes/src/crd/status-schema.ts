import type { Kind } from '@osm-ts/core'
import type { StructuralSchema } from './structural-schema.js'

const text = (description: string): StructuralSchema => ({ type: 'string', description })

const generation: StructuralSchema = {
  type: 'integer',
  format: 'int64',
  description: 'Generation of the object for which the condition was set.',
}

const conditions: StructuralSchema = {
  type: 'array',
  description: 'Conditions of the object, one entry per type.',
  // Each controller that writes conditions owns its own types.
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    description: 'A condition.',
    required: ['type', 'status'],
    properties: {
      type: text('Type of the condition.'),
      status: { type: 'string', enum: ['True', 'False', 'Unknown'], description: 'Status of the condition.' },
      observedGeneration: generation,
      lastTransitionTime: { type: 'string', format: 'date-time', description: 'Time of the last change of status.' },
      reason: text('Machine-readable reason, in one word.'),
      message: text('Message for people.'),
    },
  },
}

const clusters: StructuralSchema = {
  type: 'array',
  description: 'Clusters that export the service.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['cluster'],
  items: {
    type: 'object',
    description: 'A cluster.',
    required: ['cluster'],
    properties: {
      cluster: text('The cluster, as region/zone/group/cluster.'),
      addresses: {
        type: 'array',
        description: 'Addresses of its gateway.',
        items: text('An address.'),
      },
    },
  },
}

const ownMembers: Partial<Record<Kind, Readonly<Record<string, StructuralSchema>>>> = {
  MeshRootCertificate: { state: text('Rotation stage of the root, with the names of OSM.') },
  ServiceImport: { clusters },
}

/**
 * Status of a kind. Conditions are ours; currentStatus and reason are what OSM wrote, for what reads them. Members that
 * others wrote before are kept.
 */
export function statusSchema(kind: Kind): StructuralSchema {
  return {
    type: 'object',
    description: 'Status of the object. Written by the leading controller.',
    'x-kubernetes-preserve-unknown-fields': true,
    properties: {
      observedGeneration: generation,
      conditions,
      currentStatus: text('Summary of the conditions: committed or error.'),
      reason: text('Reason for currentStatus.'),
      ...ownMembers[kind],
    },
  }
}

/** Status of a kind of an endpoints provider. */
export function resourceStatusSchema(): StructuralSchema {
  return {
    type: 'object',
    description: 'Status of the object. Written by the leading controller.',
    properties: {
      observedGeneration: generation,
      instances: { type: 'integer', description: 'Number of instances that the object selects, ready or not.' },
      addresses: {
        type: 'array',
        description: 'Addresses of instances that take traffic, 16 at most.',
        items: text('An address.'),
      },
      lastResolvedTime: {
        type: 'string',
        format: 'date-time',
        description: 'Last time when all selected resources were found, to ten minutes.',
      },
      conditions,
    },
  }
}
