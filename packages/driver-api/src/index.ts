/**
 * The contract: what a driver is, what it is given, and what it returns. Policies are in `./policy`, helpers for drivers in `./toolkit`; `./host` is for
 * hosts only.
 */
// Whole modules, and not names: a bundler that splits programs takes a list of names for a use of every module here.
export * from './check-driver.js'
export type { ContractRange } from './contract.js'
export * from './apply-state.js'
export * from './observation.js'
export * from './capabilities.js'
export * from './controller-context.js'
export * from './driver.js'
export * from './driver-name.js'
export * from './errors.js'
export * from './health.js'
export * from './identity.js'
export * from './injector-context.js'
export * from './mesh-config.js'
export * from './schema/driver.js'
export * from './schema/sidecar-patch.js'
export * from './sidecar-patch.js'
export * from './validate-driver-data.js'
export * from './wire.js'
