import type { Instance } from './instance.js'

/** A Service, by namespace and name. */
export interface ServiceName {
  readonly namespace: string
  readonly name: string
}

/** Everything that a provider knows at one moment. It replaces the previous answer as a whole. */
export interface ProviderAnswer {
  /** Each service once. A service that is absent has no instances of this provider. */
  readonly services: readonly ServiceInstances[]
}

/** The instances of one service. */
export interface ServiceInstances {
  readonly service: ServiceName
  /** Empty: the provider knows that there are none. */
  readonly instances: readonly Instance[]
  /**
   * Present: the provider could not refresh this service and repeats its last good instances; the text says why, without secrets. An unreachable API is never
   * a reason to publish fewer instances.
   */
  readonly stale?: string
}
