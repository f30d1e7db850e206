import { requireContract } from '@osm-ts/driver-api/host'

import type { DriverRefusal, DriverState } from './driver-facts.js'
import type { DriverRegistry } from './registry.js'

/** How far the proxy control plane of a class is. `failed` is tried again, `ended` is not. */
export type ControlPlaneStart =
  | { readonly state: 'starting' | 'started' }
  | { readonly state: 'failed' | 'ended'; readonly code: string; readonly message: string }

/** Where states are read. */
export interface DriverStateSources {
  readonly registry: Pick<DriverRegistry, 'names' | 'get' | 'facts' | 'refusals'>
  /** `stateOf` is undefined for a class whose proxy control plane is not to be started. */
  readonly runner: { readonly stateOf: (name: string) => ControlPlaneStart | undefined }
}

/** Bounds of what is told, so that no driver and no list of them makes a page long: drivers, and characters of a reason. */
const MOST_DRIVERS = 1_024
const MOST_WORDS = 2_048

/** Every driver of a program, and every one that was requested and is not there, sorted by class; 1,024 at most. */
export function driverStates({ registry, runner }: DriverStateSources): readonly DriverState[] {
  const present = registry.names().map((name): DriverState => {
    const { contract: contracts, capabilities, oldestProxyVersion = '' } = registry.get(name)
    const { origin = 'built-in', version = '', failurePolicy = 'Fail', process } = registry.facts(name) ?? {}
    const processState = process?.()
    const oldest = oldestProxyVersion === '' ? {} : { oldestProxyVersion }
    const known = {
      name,
      origin,
      failurePolicy,
      version,
      contract: requireContract({ name, contract: contracts }),
      contracts,
      capabilities,
      ...oldest,
    } as const
    const about = processState === undefined ? known : { ...known, restarts: processState.restarts }
    if (processState !== undefined && processState.state !== 'running')
      return { ...about, state: 'circuit-open', ...(processState.lastFailure && { reason: processState.lastFailure }) }
    return { ...about, ...stateOf(runner.stateOf(name)) }
  })
  return [...present, ...registry.refusals().map(refused)]
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .slice(0, MOST_DRIVERS)
    .map((state) => (state.reason === undefined ? state : { ...state, reason: inShort(state.reason) }))
}

function refused({ name, origin, failurePolicy, code, message, final }: DriverRefusal): DriverState {
  return { name, origin, failurePolicy, version: '', state: final ? 'refused' : 'loading', reason: { code, message } }
}

function inShort({ code, message }: NonNullable<DriverState['reason']>): NonNullable<DriverState['reason']> {
  return { code, message: message.length > MOST_WORDS ? `${message.slice(0, MOST_WORDS)}…` : message }
}

function stateOf(start: ControlPlaneStart | undefined): Pick<DriverState, 'state' | 'reason'> {
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
