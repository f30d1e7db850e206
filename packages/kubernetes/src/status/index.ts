export type { Condition, ObjectStatus } from './condition.js'
export { isObjectRefusals, summarizeRefusals, type ObjectRefusals } from './wanted-status.js'
export { StatusWriter, type StatusTargets, type StatusWriterOptions } from './status-writer.js'
