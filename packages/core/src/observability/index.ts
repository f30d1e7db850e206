export { countErrorCodes } from './count-error-codes.js'
export { type LogLevel, type ProcessLogger, createLogger } from './logger.js'
export { BLOCK_MS, LoopWatch, type LoopWatchOptions } from './loop-watch.js'
export { MAX_SERIES_PER_METRIC, Metrics } from './metrics.js'
