// What becomes of the connections and requests of upstreams, counted by the names that Envoy has for it.

import { escapeLabel } from './exposition.js'

/** Upstreams that are remembered, at most, beyond those of the configuration. */
export var MOST_UPSTREAMS = 1000

/** Names of `sidecar_cluster_…` with their kind. */
export var upstreamMetrics = [
  ['upstream_cx_active', 'gauge'],
  ['upstream_cx_connect_timeout', 'counter'],
  ['upstream_cx_destroy_local_with_active_rq', 'counter'],
  ['upstream_cx_destroy_remote_with_active_rq', 'counter'],
  ['upstream_cx_rx_bytes_total', 'counter'],
  ['upstream_cx_tx_bytes_total', 'counter'],
  ['upstream_rq_total', 'counter'],
  ['upstream_rq_timeout', 'counter'],
  ['upstream_rq_per_try_timeout', 'counter'],
  ['upstream_rq_pending_failure_eject', 'counter'],
  ['upstream_rq_pending_overflow', 'counter'],
  ['upstream_rq_rx_reset', 'counter'],
  ['upstream_rq_tx_reset', 'counter'],
  ['upstream_rq_retry', 'counter'],
  ['upstream_rq_retry_backoff_exponential', 'counter'],
  // No one tells this class when to return, so that it stays 0.
  ['upstream_rq_retry_backoff_ratelimited', 'counter'],
  ['upstream_rq_retry_limit_exceeded', 'counter'],
  ['upstream_rq_retry_overflow', 'counter'],
  ['upstream_rq_retry_success', 'counter'],
]

/** The same of upstreams whose endpoints are checked; others have none of it. */
var checkMetrics = [
  ['health_check.attempt', 'counter'],
  ['health_check.success', 'counter'],
  ['health_check.failure', 'counter'],
  ['membership_healthy', 'gauge'],
]

/** No upstream has been used yet. */
export function makeUpstreamCounts() {
  return { byId: {} }
}

/**
 * What an upstream is counted by: numbers by name, and answers by status. Those of upstreams that are gone are forgotten when there are too many.
 *
 * @param isKnown - whether the configuration still has an upstream
 */
export function countsOf(counts, id, isKnown) {
  var found = counts.byId[id]
  if (found) return found
  if (Object.keys(counts.byId).length >= MOST_UPSTREAMS) {
    Object.keys(counts.byId).forEach((each) => {
      if (!isKnown(each)) delete counts.byId[each]
    })
  }
  var made = { numbers: {}, statuses: {} }
  counts.byId[id] = made
  return made
}

/** Adds to a number. */
export function addTo(numbers, name, amount) {
  numbers[name] = (numbers[name] || 0) + amount
}

/**
 * Text of Prometheus.
 *
 * @param activeOf - how many connections an upstream has now
 */
export function upstreamLines(counts, activeOf) {
  var ids = Object.keys(counts.byId).sort()
  if (ids.length === 0) return []
  var lines = []
  upstreamMetrics.forEach((metric) => {
    var name = 'sidecar_cluster_' + metric[0]
    lines.push('# TYPE ' + name + ' ' + metric[1])
    ids.forEach((id) => {
      var value = metric[0] === 'upstream_cx_active' ? activeOf(id) : counts.byId[id].numbers[metric[0]] || 0
      lines.push(name + '{sidecar_cluster_name="' + escapeLabel(id) + '"} ' + value)
    })
  })
  return lines.concat(
    checkLines(counts, ids),
    statusLines('upstream_rq_xx', 'sidecar_response_code_class', classOf, counts, ids),
    statusLines('external_upstream_rq', 'sidecar_response_code', (status) => status, counts, ids),
    statusLines('external_upstream_rq_xx', 'sidecar_response_code_class', classOf, counts, ids),
    statusLines('external_upstream_rq_completed', '', () => '', counts, ids),
  )
}

function checkLines(counts, ids) {
  var lines = []
  checkMetrics.forEach((metric) => {
    var checked = ids.filter((id) => counts.byId[id].numbers[metric[0]] !== undefined)
    if (checked.length === 0) return
    var name = 'sidecar_cluster_' + metric[0].replaceAll('.', '_')
    lines.push('# TYPE ' + name + ' ' + metric[1])
    checked.forEach((id) => {
      lines.push(name + '{sidecar_cluster_name="' + escapeLabel(id) + '"} ' + counts.byId[id].numbers[metric[0]])
    })
  })
  return lines
}

// Answers of all upstreams, added up by a label.
function statusLines(name, label, valueOf, counts, ids) {
  var full = 'sidecar_cluster_' + name
  var lines = ['# TYPE ' + full + ' counter']
  ids.forEach((id) => {
    var sums = {}
    Object.entries(counts.byId[id].statuses).forEach((entry) => addTo(sums, valueOf(entry[0]), entry[1]))
    Object.keys(sums)
      .sort()
      .forEach((value) => {
        var first = label === '' ? '' : label + '="' + value + '",'
        lines.push(full + '{' + first + 'sidecar_cluster_name="' + escapeLabel(id) + '"} ' + sums[value])
      })
  })
  return lines
}

function classOf(status) {
  return status.charAt(0)
}
