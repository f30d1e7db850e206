import type { ResourceKind } from '@osm-ts/endpoints-api'
import { serviceProperties } from '@osm-ts/endpoints-polling'

/** Maps a Service to instances of EC2. */
export const awsResource: ResourceKind = {
  group: 'aws.openservicemesh.io',
  version: 'v1alpha1',
  kind: 'AwsResource',
  plural: 'awsresources',
  specSchema: {
    type: 'object',
    required: ['service', 'resources'],
    properties: {
      ...serviceProperties,
      resources: {
        type: 'array',
        minItems: 1,
        maxItems: 32,
        description:
          'Instances, auto-scaling groups, and instances by tag. An instance that is selected several times counts once.',
        items: {
          type: 'object',
          oneOf: [
            { required: ['instanceId'] },
            { required: ['autoScalingGroup'] },
            { required: ['arn'] },
            { required: ['tags'] },
          ],
          properties: {
            instanceId: { type: 'string', minLength: 1, maxLength: 32, description: 'ID of an instance.' },
            autoScalingGroup: {
              type: 'string',
              minLength: 1,
              maxLength: 255,
              description: 'Name of an auto-scaling group.',
            },
            arn: {
              type: 'string',
              minLength: 1,
              maxLength: 512,
              description: 'ARN of an instance or of an auto-scaling group.',
            },
            tags: {
              type: 'object',
              minProperties: 1,
              maxProperties: 15,
              additionalProperties: { type: 'string', maxLength: 256 },
              description: 'Selects the instances that have all these tags.',
            },
            region: {
              type: 'string',
              minLength: 1,
              maxLength: 32,
              description: 'Ignored with arn. Default: the region of the provider, if it has only one.',
            },
          },
        },
      },
    },
  },
}
