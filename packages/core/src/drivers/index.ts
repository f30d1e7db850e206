export { unsupportedFields, type UnsupportedField } from './unsupported-fields.js'
export { driverConfigCheck, type DriverConfigCheck } from './config-check.js'
export { type ControlPlaneStart, type DriverStateSources, driverStates } from './driver-states.js'
export { DriverRegistry } from './registry.js'
export type {
  DriverFacts,
  DriverOrigin,
  DriverProcessState,
  DriverRefusal,
  DriverState,
  FailurePolicy,
} from './driver-facts.js'
