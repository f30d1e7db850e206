export type { Condition, ObjectStatus } from './condition.js'
export { StatusWriter, type StatusTargets, type StatusWriterOptions } from './status-writer.js'
