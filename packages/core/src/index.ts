export * from './async/index.js'
export * from './catalog/index.js'
export * from './certificates/index.js'
export * from './config/index.js'
export * from './dashboard/index.js'
export { UnsupportedFields, unsupportedFields, type UnsupportedField } from './drivers/unsupported-fields.js'
export { driverConfigCheck, type DriverConfigCheck } from './drivers/config-check.js'
export type {
  DriverFacts,
  DriverOrigin,
  DriverProcessState,
  DriverRefusal,
  DriverState,
  FailurePolicy,
} from './drivers/driver-facts.js'
export { type ControlPlaneStart, type DriverStateSources, driverStates } from './drivers/driver-states.js'
export { DriverRegistry } from './drivers/registry.js'
export * from './endpoints/index.js'
export {
  type ListeningMachine,
  type MachineClaims,
  type MachineListeners,
  machineListeners,
} from './explicit/machine-listeners.js'
export { inboundKeys, openedKeys, servedPorts } from './explicit/served-ports.js'
export {
  environmentName,
  portsOfVariables,
  type TcpServicePort,
  tcpServicePorts,
  tcpVariable,
} from './explicit/tcp-service-ports.js'
export * from './host/index.js'
export * from './identity/index.js'
export * from './machines/index.js'
export { Broker, OVERFLOW_TOPIC, SUBSCRIPTION_CAPACITY } from './messaging/broker.js'
export { type LogLevel, type ProcessLogger, createLogger, countErrorCodes } from './observability/logger.js'
export { BLOCK_MS, LoopWatch, type LoopWatchOptions } from './observability/loop-watch.js'
export { MAX_SERIES_PER_METRIC, Metrics } from './observability/metrics.js'
export * from './problem.js'
export * from './proxies/index.js'
export * from './secrets/index.js'
export * from './snapshot/index.js'
export * from './spec/index.js'
export { nameKey, type NamespacedName } from './namespaced-name.js'
