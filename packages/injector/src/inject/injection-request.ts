import type { JsonObject } from '../json/json.js'
import type { NamespaceFacts } from './settings.js'

/** A pod to be looked at. */
export interface InjectionRequest {
  readonly pod: JsonObject
  readonly namespace: NamespaceFacts
  readonly dryRun: boolean
  readonly signal: AbortSignal
}
