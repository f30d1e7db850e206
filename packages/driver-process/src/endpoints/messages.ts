import type {
  CallOutcome,
  CustomResource,
  JsonObject,
  ResourceKind,
  ResourceRef,
  ResourceStatus,
} from '@osm-ts/endpoints-api'

/** What a host tells the process of a provider. */
export type ToProvider =
  | { readonly type: 'start'; readonly settings: JsonObject; readonly resources: readonly CustomResource[] }
  | { readonly type: 'resources'; readonly resources: readonly CustomResource[] }
  | { readonly type: 'ping' }
  | { readonly type: 'stop' }

/** What a provider declares. */
export interface ProviderDeclaration {
  readonly name: string
  readonly version: string
  readonly contractVersion: number
  readonly resourceKinds: readonly ResourceKind[]
  readonly settingsSchema: JsonObject
}

/** What the process of a provider tells its host. */
export type FromProvider =
  | { readonly type: 'declared'; readonly declaration: ProviderDeclaration }
  | { readonly type: 'started' }
  | { readonly type: 'published'; readonly answer: unknown }
  | { readonly type: 'health'; readonly failure?: string }
  | { readonly type: 'status'; readonly ref: ResourceRef; readonly status?: ResourceStatus }
  | { readonly type: 'called'; readonly operation: string; readonly outcome: CallOutcome }
  | { readonly type: 'logged'; readonly level: LogLevel; readonly message: string; readonly fields?: JsonObject }
  | { readonly type: 'pong' }
  | { readonly type: 'stopped'; readonly failure?: string }

/** Level of a line of a provider's log. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
