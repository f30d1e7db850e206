// Metrics, as text of Prometheus. Counted in plain objects: a counter is a number by its labels.

import { escapeLabel, histogramLines } from './exposition.js'
import { state, trackedConnections } from './state.js'

var counters = {}
var durations = {}
var retries = {}
var labelNames = ['namespace', 'kind', 'name', 'pod']

/** Names the own workload in the head of an answer, for the metrics of a caller of the mesh. */
export function workloadHeaders(head) {
  var config = state.world.config
  if (!config.requestMetrics) return
  var own = ownLabels(config.workload)
  if (!head.headers) head.headers = {}
  labelNames.forEach((label) => void (head.headers['osm-stats-' + label] = own[label]))
}

/** Counts an answer that the workload gets, and takes the names of the other workload out of it. */
export function countRequest(upstream, head, tookMs) {
  var key =
    'sidecar_cluster_upstream_rq_total{cluster="' + escapeLabel(upstream.id) + '",response_code="' + head.status + '"}'
  counters[key] = (counters[key] || 0) + 1
  var headers = head.headers || {}
  var labels = []
  var own = ownLabels(state.world.config.workload)
  labelNames.forEach((label) => void labels.push('source_' + label + '="' + escapeLabel(own[label]) + '"'))
  labelNames.forEach((label) => {
    labels.push('destination_' + label + '="' + escapeLabel(headers['osm-stats-' + label] || 'unknown') + '"')
    delete headers['osm-stats-' + label]
  })
  if (!state.world.config.requestMetrics || !upstream.settings.tls) return
  var text = labels.join(',')
  var total = 'osm_request_total{response_code="' + head.status + '",' + text + '}'
  counters[total] = (counters[total] || 0) + 1
  if (!durations[text]) durations[text] = { buckets: {}, sum: 0, count: 0 }
  var series = durations[text]
  series.sum = series.sum + tookMs
  series.count = series.count + 1
  limits.forEach((limit) => {
    if (tookMs <= limit) series.buckets[limit] = (series.buckets[limit] || 0) + 1
  })
}

/** Counts a try beyond the first (`upstream_rq_retry`), or that no more were left (`upstream_rq_retry_limit_exceeded`). */
export function countRetry(upstream, name) {
  if (!retries[upstream.id]) retries[upstream.id] = {}
  var counts = retries[upstream.id]
  counts[name] = (counts[name] || 0) + 1
}

/** Tries by upstream, one a line, by the names that Envoy has for them; and how many connections a change of policy can end. */
export function statistics() {
  return (
    retryLines((id, name) => 'cluster.' + id + '.' + name + ':') +
    'server.tracked_connections: ' +
    trackedConnections() +
    '\nserver.under_way: ' +
    state.underWay +
    '\n'
  )
}

function retryLines(nameOf) {
  return Object.keys(retries)
    .sort()
    .map((id) =>
      Object.keys(retries[id])
        .sort()
        .map((name) => nameOf(id, name) + ' ' + retries[id][name] + '\n')
        .join(''),
    )
    .join('')
}

var limits = [0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000]

/** Counts what a plugin has thrown. */
export function countPluginFailure(name) {
  var key = 'sidecar_plugin_failures_total{plugin="' + escapeLabel(name) + '"}'
  counters[key] = (counters[key] || 0) + 1
}

/** All metrics. */
export function exposition() {
  var lines = ['sidecar_server_live 1']
  Object.keys(counters)
    .sort()
    .forEach((key) => void lines.push(key + ' ' + counters[key]))
  Object.keys(durations)
    .sort()
    .forEach((labels) =>
      histogramLines('osm_request_duration_ms', labels, limits, durations[labels]).forEach(
        (line) => void lines.push(line),
      ),
    )
  return (
    lines.join('\n') +
    '\n' +
    retryLines((id, name) => 'sidecar_cluster_' + name + '{cluster="' + escapeLabel(id) + '"}')
  )
}

function ownLabels(workload) {
  return { namespace: workload.namespace, kind: workload.kind, name: workload.name, pod: workload.instance }
}
