import type { Capabilities, ContractRange } from '@osm-ts/driver-api'

/** What becomes of a pod whose driver does not answer: `Fail` refuses it, `Ignore` admits it without a sidecar. Kubernetes calls it so at webhooks. */
export type FailurePolicy = 'Fail' | 'Ignore'

/** Where a driver comes from: it is part of the program, a package that was loaded, or served by somebody else on a socket. */
export type DriverOrigin = 'built-in' | 'package' | 'socket'

/** State of a driver in another process. */
export interface DriverProcessState {
  /** `restarting`: its circuit is open, and nothing is asked of it until it runs again. */
  readonly state: 'running' | 'restarting' | 'stopped'
  /** How often its process was started again. */
  readonly restarts: number
  /** Why it was, last. */
  readonly lastFailure?: { readonly code: string; readonly message: string }
}

/** What a host knows of a driver beside what the driver declares. */
export interface DriverFacts {
  readonly origin: DriverOrigin
  /** For people; may be empty. */
  readonly version: string
  readonly failurePolicy: FailurePolicy
  /** Asked whenever somebody wants to know; undefined for a driver in this process. */
  readonly process?: () => DriverProcessState
}

/** A driver that was requested and is not there. */
export interface DriverRefusal {
  /** Sidecar class that it was to be of. */
  readonly name: string
  readonly origin: DriverOrigin
  readonly code: string
  /** Why, for its author and its user. */
  readonly message: string
  /** False: it is tried again, and may still come. */
  readonly final: boolean
  readonly failurePolicy: FailurePolicy
}

/** A driver that a controller has, or should have, as its debug page says it. */
export interface DriverState {
  /** Sidecar class. */
  readonly name: string
  readonly origin: DriverOrigin
  /**
   * `ready`: its proxy control plane runs. `starting`: it is being started. `not-allowed`: MeshConfig did not allow the class when the controller started. `loading`: it
   * was not there yet, and may come. `circuit-open`: its process failed and is started again after a wait. `not-started`: its start failed and is tried again.
   * `ended`: it ended itself. `refused`: it will not be loaded.
   */
  readonly state:
    'ready' | 'starting' | 'not-allowed' | 'loading' | 'circuit-open' | 'not-started' | 'ended' | 'refused'
  /** Why it is not ready. */
  readonly reason?: { readonly code: string; readonly message: string }
  readonly failurePolicy: FailurePolicy
  /** Empty for what is part of the program, and for what was never loaded. */
  readonly version: string
  /** Contract version in use; undefined for what was never loaded. */
  readonly contract?: number
  /** Contract versions that it supports; undefined for what was never loaded. */
  readonly contracts?: ContractRange
  /** What it declares; undefined for what was never loaded. */
  readonly capabilities?: Capabilities
  /** Oldest version of the proxy that it serves; undefined if any will do. */
  readonly oldestProxyVersion?: string
  /** How often its process was started again; undefined for what is part of the program. */
  readonly restarts?: number
}

/** What is known of a driver that is part of the program. */
export const builtInFacts: DriverFacts = { origin: 'built-in', version: '', failurePolicy: 'Fail' }
