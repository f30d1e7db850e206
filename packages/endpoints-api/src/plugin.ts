import type { ProviderAnswer } from './answer.js'
import type { ResourceKind, ResourceRef, ResourceStatus, Resources, JsonObject } from './resource.js'

/** Version of this contract. */
export const ENDPOINTS_CONTRACT_VERSION = 1

/**
 * An endpoints provider: knows where instances of services run outside the cluster. A package exports it by default, or as `endpointsProvider`.
 *
 * It knows neither traffic policy nor proxies nor Kubernetes: it receives its own custom resources as plain data and publishes instances as plain data, so that it can run in a
 * thread or process of its own. Importing it has no side effect.
 */
export interface EndpointsPlugin {
  /** A DNS label, unique in a mesh, such as `azure`. */
  readonly name: string
  /** Version of the contract that the provider implements: {@link ENDPOINTS_CONTRACT_VERSION}. */
  readonly contractVersion: number
  /** Kinds of custom resources that it owns; empty for a provider that is configured by its settings alone. */
  readonly resourceKinds: readonly ResourceKind[]
  /** JSON Schema of its settings. Settings that do not conform are refused before `start`. */
  readonly settingsSchema: JsonObject
  /**
   * Starts to discover. Resolves when the provider runs, which need not mean that it has published.
   *
   * An error that may pass, such as an unreachable API, is no reason to throw: a started provider reports it by {@link ProviderContext.report} and retries. Whatever `start` throws is retried by the host,
   * after a growing wait.
   */
  start(context: ProviderContext): Promise<RunningProvider>
}

/** A provider that runs. */
export interface RunningProvider {
  /**
   * Settles when everything that `start` opened is closed. After {@link ProviderContext.signal} has aborted it resolves. If it settles earlier, the provider has failed:
   * the host keeps its last good answer as stale, and starts it again after a wait.
   */
  readonly stopped: Promise<void>
}

/** Result of one call of a provider to an API outside. */
export type CallOutcome = 'ok' | 'throttled' | 'failed'

/** What a host gives to a provider. */
export interface ProviderContext {
  /** Version of the contract that the host speaks. */
  readonly contractVersion: number
  /** Settings of the operator, valid for `settingsSchema`. Credentials are not among them: they come from the environment or from files that settings name. */
  readonly settings: JsonObject
  /** Aborts when the provider has to end. */
  readonly signal: AbortSignal
  readonly log: ProviderLog
  readonly resources: Resources
  /**
   * Announces the present answer. The host validates it and uses it as a whole; an invalid answer is refused, reported, and leaves the last good one in force.
   * Calls in quick succession are merged: the last one counts. Publishing an equal answer again is harmless and renews its age.
   */
  publish(answer: ProviderAnswer): void
  /**
   * Reports the health of the provider as a whole. While `failing`, the last published answer counts as stale.
   *
   * @param health - `message` is for people, without secrets; `retryInMs` is the time until the next attempt, if known
   */
  report(
    health:
      { readonly state: 'ok' } | { readonly state: 'failing'; readonly message: string; readonly retryInMs?: number },
  ): void
  /** Sets the status of an object; undefined clears it. Equal statuses are written once. */
  reportStatus(ref: ResourceRef, status: ResourceStatus | undefined): void
  /** Counts a call to an API outside, by operation, such as `virtualMachines/list`; shown as a metric. At most 32 operations are told apart. */
  countCall(operation: string, outcome: CallOutcome): void
}

/** Log of a provider. Fields are plain values; no secrets. */
export interface ProviderLog {
  debug(message: string, fields?: JsonObject): void
  info(message: string, fields?: JsonObject): void
  warn(message: string, fields?: JsonObject): void
  error(message: string, fields?: JsonObject): void
}
