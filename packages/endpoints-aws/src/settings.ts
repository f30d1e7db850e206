import type { JsonObject } from '@osm-ts/endpoints-api'
import { servicesSchema, type ConfiguredService } from '@osm-ts/endpoints-polling'

import { awsResource } from './resource-kind.js'

/** JSON Schema of {@link AwsSettings}. */
export const settingsSchema: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['regions'],
  properties: {
    regions: {
      type: 'array',
      minItems: 1,
      maxItems: 64,
      description: 'Regions that objects may select from. Others are refused.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name'],
        properties: {
          name: { type: 'string', pattern: '^[a-z]{2,8}(-[a-z]{2,12}){1,3}-[0-9]{1,2}$' },
          vpcs: {
            type: 'array',
            maxItems: 64,
            items: { type: 'string', pattern: '^vpc-[0-9a-f]{8,17}$' },
            description: 'VPCs whose instances may be selected. Default: all.',
          },
          namespaces: {
            type: 'array',
            maxItems: 256,
            items: { type: 'string', minLength: 1, maxLength: 63 },
            description: 'Namespaces whose objects may select from it. Default: all of the mesh.',
          },
        },
      },
    },
    account: {
      type: 'string',
      pattern: '^[0-9]{12}$',
      description: 'Account of the credential. ARNs of other accounts are refused. Default: all ARNs are refused.',
    },
    credentialFile: {
      type: 'string',
      minLength: 1,
      maxLength: 4096,
      description:
        'File with a credential in the format of credential_process; it may be replaced at any time. Default: the default chain of the SDK.',
    },
    endpoint: {
      type: 'string',
      pattern: '^https?://[^/?#@]+/?$',
      maxLength: 253,
      description: 'URL of EC2 and Auto Scaling, instead of the URLs of AWS.',
    },
    services: servicesSchema(awsResource),
    intervalSeconds: { type: 'integer', minimum: 10, maximum: 3600, description: 'Time between rounds. Default: 60.' },
    callsPerMinute: {
      type: 'integer',
      minimum: 1,
      maximum: 1200,
      description: 'Maximum number of calls to AWS per minute; further calls wait. Default: 120.',
    },
  },
}

/** Settings of the provider. */
export interface AwsSettings {
  readonly regions: readonly AllowedRegion[]
  readonly account?: string
  readonly credentialFile?: string
  readonly endpoint?: string
  readonly services?: readonly ConfiguredService[]
  readonly intervalSeconds?: number
  readonly callsPerMinute?: number
}

/** A region that objects may select from. */
export interface AllowedRegion {
  readonly name: string
  readonly vpcs?: readonly string[]
  readonly namespaces?: readonly string[]
}
