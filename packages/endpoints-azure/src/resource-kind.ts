import type { ResourceKind } from '@osm-ts/endpoints-api'
import { serviceProperties } from '@osm-ts/endpoints-polling'

const group = { type: 'string', minLength: 1, maxLength: 90 }

/** Maps a Service to machines of Azure. */
export const azureResource: ResourceKind = {
  group: 'azure.openservicemesh.io',
  version: 'v1alpha1',
  kind: 'AzureResource',
  plural: 'azureresources',
  specSchema: {
    type: 'object',
    required: ['service', 'resources'],
    properties: {
      ...serviceProperties,
      resources: {
        type: 'array',
        minItems: 1,
        maxItems: 32,
        description: 'Machines, scale sets, and machines by tag. A machine that is selected several times counts once.',
        items: {
          type: 'object',
          oneOf: [{ required: ['uri'] }, { required: ['tags'] }],
          properties: {
            uri: {
              type: 'string',
              minLength: 1,
              maxLength: 512,
              description: 'Resource ID of a virtual machine or of a virtual machine scale set.',
            },
            tags: {
              type: 'object',
              minProperties: 1,
              maxProperties: 15,
              additionalProperties: { type: 'string', maxLength: 256 },
              description: 'Selects the virtual machines that have all these tags.',
            },
            subscription: {
              type: 'string',
              minLength: 36,
              maxLength: 36,
              description:
                'Subscription to search for tags. Default: the subscription of the provider, if it has only one.',
            },
            resourceGroup: {
              ...group,
              description: 'Resource group to search for tags. Default: the whole subscription.',
            },
          },
        },
      },
    },
  },
}
