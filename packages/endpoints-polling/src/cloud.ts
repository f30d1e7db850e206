import type { CustomResource, InstanceLocality } from '@osm-ts/endpoints-api'

/** A machine that a cloud knows. */
export interface CloudInstance {
  /** Stable resource ID. */
  readonly id: string
  /** Preferred one first; empty while the machine has none. */
  readonly addresses: readonly string[]
  /** False while it is starting, stopping or stopped. */
  readonly running: boolean
  readonly locality: InstanceLocality
}

/** One entry of a custom resource that selects machines. */
export interface Selector<S> {
  /** Field of the object, such as `spec.resources[0]`. */
  readonly field: string
  /** Equal for selectors that select the same machines; they are resolved once. */
  readonly key: string
  /** What the API throttles as one, such as a subscription. */
  readonly scope: string
  readonly value: S
}

/** A selector that may not be resolved. */
export interface RefusedSelector {
  readonly field: string
  readonly code: 'InvalidSelector' | 'NotAllowed' | 'TooManySelectors'
  readonly message: string
}

/** One round of requests. What several selectors need is requested once a round. */
export interface CloudRound<S> {
  /** @throws ResolveFailure */
  resolve(selector: S): Promise<readonly CloudInstance[]>
}

/** What polling needs to know of a cloud. */
export interface Cloud<S> {
  /** Reads the selectors of an object, without a call. */
  selectors(resource: CustomResource): readonly (Selector<S> | RefusedSelector)[]
  startRound(signal: AbortSignal): CloudRound<S>
}

/** Whether a selector may not be resolved. */
export function isRefused<S>(selector: Selector<S> | RefusedSelector): selector is RefusedSelector {
  return 'code' in selector
}
