import type { DriverOrigin, DriverRegistry, FailurePolicy } from '@osm-ts/core'
import type { Capabilities } from '@osm-ts/driver-api'

import type { DriverRunner, StartState } from './driver-runner.js'

/** A driver that this controller has, or should have. */
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
  /** Version of the contract, and what it declares; undefined for what was never loaded. */
  readonly contract?: number
  readonly capabilities?: Capabilities
  /** How often its process was started again; undefined for what is part of the program. */
  readonly restarts?: number
}

/** Where states are read. */
export interface DriverStateSources {
  readonly registry: DriverRegistry
  readonly runner: Pick<DriverRunner, 'stateOf'>
}

/** Every driver of the controller, and every one that was asked for and is not there, sorted by class. */
export function driverStates({ registry, runner }: DriverStateSources): readonly DriverState[] {
  const present = registry.names().map((name): DriverState => {
    const { contract, capabilities } = registry.get(name)
    const { origin = 'built-in', version = '', failurePolicy = 'Fail', process } = registry.facts(name) ?? {}
    const fares = process?.()
    const known = { name, origin, failurePolicy, version, contract, capabilities } as const
    const about = fares === undefined ? known : { ...known, restarts: fares.restarts }
    if (fares !== undefined && fares.state !== 'running')
      return { ...about, state: 'circuit-open', ...(fares.lastFailure && { reason: fares.lastFailure }) }
    return { ...about, ...stateOf(runner.stateOf(name)) }
  })
  const missing = registry.refusals().map((refusal): DriverState => {
    const { name, origin, failurePolicy, code, message, final } = refusal
    const state = final ? 'refused' : 'loading'
    return { name, origin, failurePolicy, version: '', state, reason: { code, message } }
  })
  return [...present, ...missing].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

function stateOf(start: StartState | undefined): Pick<DriverState, 'state' | 'reason'> {
  switch (start?.state) {
    case undefined:
      return { state: 'not-allowed' }
    case 'started':
      return { state: 'ready' }
    case 'starting':
      return { state: 'starting' }
    case 'failed':
      return { state: 'not-started', reason: { code: start.code, message: start.message } }
    case 'ended':
      return { state: 'ended', reason: { code: start.code, message: start.message } }
  }
}
