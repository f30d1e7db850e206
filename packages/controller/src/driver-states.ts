import type { DriverRegistry, DriverState } from '@osm-ts/core'

import type { DriverRunner, StartState } from './driver-runner.js'

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
