import { isRecord } from '@osm-ts/driver-api/toolkit'
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

const LEVELS: readonly unknown[] = ['debug', 'info', 'warn', 'error'] satisfies LogLevel[]
const OUTCOMES: readonly unknown[] = ['ok', 'throttled', 'failed'] satisfies CallOutcome[]

type Fields = Readonly<Record<string, unknown>>

/** Whether the members of a message have their types, by the type of the message. What a provider declares, publishes or says of an object is checked where it is used. */
const forms: Readonly<Record<FromProvider['type'], (fields: Fields) => boolean>> = {
  declared: ({ declaration }) => isRecord(declaration),
  started: () => true,
  published: () => true,
  health: ({ failure }) => isTextOrAbsent(failure),
  status: ({ ref }) => isRecord(ref) && isText(ref['kind']) && isText(ref['namespace']) && isText(ref['name']),
  called: ({ operation, outcome }) => isText(operation) && OUTCOMES.includes(outcome),
  logged: ({ level, message, fields }) =>
    LEVELS.includes(level) && isText(message) && (fields === undefined || isRecord(fields)),
  pong: () => true,
  stopped: ({ failure }) => isTextOrAbsent(failure),
}

/**
 * Reads what the process of a provider sent. A package can use the channel itself, so that nothing is taken on trust.
 *
 * @returns the message; `invalid` for one whose members do not have their types; undefined for anything else, which is ignored
 */
export function readFromProvider(value: unknown): FromProvider | 'invalid' | undefined {
  if (!isRecord(value)) return undefined
  const { type } = value
  if (typeof type !== 'string' || !Object.hasOwn(forms, type)) return undefined
  const hasForm = forms[type as FromProvider['type']](value)
  return hasForm ? (value as unknown as FromProvider) : 'invalid' // that is what was checked
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || isText(value)
}
