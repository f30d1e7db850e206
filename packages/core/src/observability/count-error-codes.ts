import type { DriverMetrics } from '@osm-ts/driver-api'

import type { ProcessLogger } from './logger.js'

/** Counts warnings and errors of a program by their code, for as long as the program runs. */
export function countErrorCodes(logger: ProcessLogger, metrics: DriverMetrics): void {
  const codes = metrics.counter('osm_error_err_code_count', 'Warnings and errors by their code', ['err_code'])
  logger.onErrorCode((code) => codes.inc({ err_code: code }))
}
