// One line of JSON on standard output for each request, with the names that the other sidecar class has.

import { state } from './state.js'

var logger = new logging.JSONLogger('access').toStdout()

/** Logs a request that has been answered. Queries stay out: they may hold what is not for a log. */
export function logAccess(direction, request, status, since, principal) {
  if (!state.world || !state.world.config.accessLog) return
  var now = Date.now()
  logger.log({
    start_time: new Date(since).toISOString(),
    direction,
    method: request.method,
    path: request.path,
    authority: request.authority,
    response_code: status,
    duration: now - since,
    user_agent: request.headers['user-agent'] || null,
    request_id: request.headers['x-request-id'] || null,
    x_forwarded_for: request.headers['x-forwarded-for'] || null,
    caller: principal || null,
  })
}
