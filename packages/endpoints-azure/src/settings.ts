import type { JsonObject } from '@osm-ts/endpoints-api'
import { servicesSchema, type ConfiguredService } from '@osm-ts/endpoints-polling'

import { azureResource } from './resource-kind.js'

const guid = { type: 'string', pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' }
const url = { type: 'string', pattern: '^https://[^/?#@]+/?$', maxLength: 253 }
const path = { type: 'string', minLength: 1, maxLength: 4096 }
const namesOf = (description: string): JsonObject => ({
  type: 'array',
  maxItems: 256,
  items: { type: 'string', minLength: 1, maxLength: 90 },
  description,
})

/** JSON Schema of {@link AzureSettings}. */
export const settingsSchema: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['subscriptions', 'credential'],
  properties: {
    cloud: {
      enum: ['public', 'usGovernment', 'china'],
      description: 'The cloud of the subscriptions. Default: public.',
    },
    endpoints: {
      type: 'object',
      additionalProperties: false,
      required: ['resourceManager', 'authority'],
      description: 'Endpoints of another cloud, such as one of Azure Stack Hub. They replace those of cloud.',
      properties: {
        resourceManager: { ...url, description: 'URL of Azure Resource Manager.' },
        audience: { type: 'string', maxLength: 253, description: 'Audience of its tokens. Default: its URL.' },
        authority: { ...url, description: 'URL of the host that issues tokens.' },
        caFile: { ...path, description: 'File with additional certificate authorities, PEM.' },
      },
    },
    subscriptions: {
      type: 'array',
      minItems: 1,
      maxItems: 64,
      description: 'Subscriptions that objects may select from. Others are refused.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['id'],
        properties: {
          id: guid,
          resourceGroups: namesOf('Resource groups that may be selected from. Default: all.'),
          namespaces: namesOf('Namespaces whose objects may select from it. Default: all of the mesh.'),
        },
      },
    },
    credential: {
      type: 'object',
      description: 'Credential of the provider. Secrets are read from files.',
      oneOf: [
        {
          additionalProperties: false,
          required: ['type'],
          properties: {
            type: { const: 'managedIdentity' },
            clientId: { ...guid, description: 'Default: the system-assigned identity.' },
          },
        },
        {
          additionalProperties: false,
          required: ['type', 'tenantId', 'clientId', 'clientSecretFile'],
          properties: { type: { const: 'servicePrincipal' }, tenantId: guid, clientId: guid, clientSecretFile: path },
        },
        {
          additionalProperties: false,
          required: ['type', 'tenantId', 'clientId', 'certificateFile'],
          properties: { type: { const: 'servicePrincipal' }, tenantId: guid, clientId: guid, certificateFile: path },
        },
        {
          additionalProperties: false,
          required: ['type', 'tenantId', 'clientId', 'tokenFile'],
          properties: { type: { const: 'workloadIdentity' }, tenantId: guid, clientId: guid, tokenFile: path },
        },
      ],
    },
    services: servicesSchema(azureResource),
    intervalSeconds: { type: 'integer', minimum: 10, maximum: 3600, description: 'Time between rounds. Default: 60.' },
    callsPerMinute: {
      type: 'integer',
      minimum: 1,
      maximum: 1200,
      description: 'Maximum number of calls to Resource Manager per minute; further calls wait. Default: 120.',
    },
  },
}

/** Settings of the provider. */
export interface AzureSettings {
  readonly cloud?: 'public' | 'usGovernment' | 'china'
  readonly endpoints?: {
    readonly resourceManager: string
    readonly audience?: string
    readonly authority: string
    readonly caFile?: string
  }
  readonly subscriptions: readonly AllowedSubscription[]
  readonly credential: CredentialSettings
  readonly services?: readonly ConfiguredService[]
  readonly intervalSeconds?: number
  readonly callsPerMinute?: number
}

/** A subscription that objects may select from. */
export interface AllowedSubscription {
  readonly id: string
  readonly resourceGroups?: readonly string[]
  readonly namespaces?: readonly string[]
}

/** Who the provider is. */
export type CredentialSettings =
  | { readonly type: 'managedIdentity'; readonly clientId?: string }
  | {
      readonly type: 'servicePrincipal'
      readonly tenantId: string
      readonly clientId: string
      readonly clientSecretFile?: string
      readonly certificateFile?: string
    }
  | {
      readonly type: 'workloadIdentity'
      readonly tenantId: string
      readonly clientId: string
      readonly tokenFile: string
    }

/** Where a cloud is. */
export interface CloudEndpoints {
  /** URL of Azure Resource Manager, without a slash at the end. */
  readonly resourceManager: string
  /** Scope of tokens for it. */
  readonly scope: string
  /** URL of the host that issues tokens. */
  readonly authority: string
  /** File with further certificate authorities. */
  readonly caFile: string | undefined
  /** Whether the authority is one that Microsoft's public directory of authorities knows. */
  readonly isKnown: boolean
}

const clouds = {
  public: { resourceManager: 'https://management.azure.com', authority: 'https://login.microsoftonline.com' },
  usGovernment: {
    resourceManager: 'https://management.usgovcloudapi.net',
    authority: 'https://login.microsoftonline.us',
  },
  china: { resourceManager: 'https://management.chinacloudapi.cn', authority: 'https://login.chinacloudapi.cn' },
} as const

/** The endpoints that settings name. */
export function cloudEndpoints({ cloud = 'public', endpoints }: AzureSettings): CloudEndpoints {
  const { resourceManager, authority } = endpoints ?? clouds[cloud]
  const base = resourceManager.replace(/\/$/, '')
  return {
    resourceManager: base,
    scope: `${endpoints?.audience ?? base}/.default`,
    authority,
    caFile: endpoints?.caFile,
    isKnown: endpoints === undefined,
  }
}
