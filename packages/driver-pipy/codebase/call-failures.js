// Calls that no one has answered: why, what is counted of it, and what the caller gets.

import { countUpstream } from './metrics.js'
import { failedToConnect } from './upstream.js'

// With the flag of the access log, as Envoy names it.
var localAnswers = {
  timeout: { status: 504, body: 'upstream request timeout', flag: 'UT' },
  // No one sees this one; it is for the log.
  gone: { status: 499, body: '', flag: 'DC' },
  overflow: { status: 503, body: 'too many connections', flag: 'UO' },
  invalid: { status: 502, body: 'invalid answer', flag: 'UPE' },
}

/** The answer of the sidecar itself: `{ status, body, flag }`. */
export function answerFor(call) {
  return localAnswers[call.failed] || { status: 503, body: 'upstream unavailable', flag: 'UF' }
}

/** Why no one answered; `isPoolsWord` if the pool itself said that there was no connection. */
export function failureOf(call, isPoolsWord) {
  if (call.failed) return call.failed
  return failedToConnect(call) || isPoolsWord ? 'connect' : 'reset'
}

/** Counts a try that has failed, once. */
export function noteFailure(call, reason) {
  var link = call.link
  if (!link || call.isCounted) return
  call.isCounted = true
  if (reason === 'connect') countUpstream(call.upstream, 'upstream_rq_pending_failure_eject')
  if (reason !== 'reset') return
  countUpstream(call.upstream, 'upstream_rq_rx_reset')
  // Others may have been on it.
  if (!link.isLost) countUpstream(call.upstream, 'upstream_cx_destroy_remote_with_active_rq')
  link.isLost = true
}
