export { countErrorCodes } from './count-error-codes.js'
export { type LogLevel, type ProcessLogger, createLogger } from './logger.js'
export { MAX_SERIES_PER_METRIC, Metrics } from './metrics.js'
