// Metrics, as text of Prometheus. Counted in plain objects: a counter is a number by its labels.

import { escapeLabel, histogramLines } from './exposition.js'
import { addTo, countsOf, makeUpstreamCounts, upstreamLines } from './upstream-metrics.js'
import { arrivalLines, tunnelLines } from './tunnel-counts.js'
import { makeMemo, recall } from './memo.js'
import { refusedMessages } from './framing-counts.js'
import { state, trackedConnections } from './state.js'

var upstreams = makeUpstreamCounts()
// Requests by the labels of both workloads, and by the names that answers have come with.
var durations = {}
var known = { workload: undefined, texts: undefined }
var pluginFailures = {}
var labelNames = ['namespace', 'kind', 'name', 'pod']
var limits = [0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000]

// By port: connections that came too fast. And what came of the limits of requests.
var limitedConnections = {}
var limitedRequests = { enabled: 0, ok: 0, rate_limited: 0 }

// Requests by whether something of them is kept.
var samples = {}
var sampleNames = [
  'inbound_http_logging_sampled_0',
  'inbound_http_logging_sampled_1',
  'inbound_http_tracing_sampled_0',
  'inbound_http_tracing_sampled_1',
  'outbound_http_logging_sampled_0',
  'outbound_http_logging_sampled_1',
  'outbound_http_tracing_sampled_0',
  'outbound_http_tracing_sampled_1',
]

/** Spans and the requests that take them to their collector; see collector.js. */
export var spanCounts = { sent: 0, dropped: 0, batches: 0, failures: 0 }

/** Records of requests and the lists that take them to their collector; see collector.js. */
export var recordCounts = { sent: 0, dropped: 0, batches: 0, failures: 0 }

/** Names the own workload in the head of an answer, for the metrics of a caller of the mesh. */
export function workloadHeaders(head) {
  var config = state.runtime.config
  if (!config.requestMetrics) return
  var own = config.workload
  if (!head.headers) head.headers = {}
  var headers = head.headers
  headers['osm-stats-namespace'] = own.namespace
  headers['osm-stats-kind'] = own.kind
  headers['osm-stats-name'] = own.name
  headers['osm-stats-pod'] = own.instance
}

/** Counts an answer that the workload gets, and takes the names of the other workload out of it. */
export function countRequest(upstream, head, tookMs) {
  var headers = head.headers
  countAnswered(upstream, head.status, upstream.settings.tls ? seriesOfAnswer(headers || {}) : undefined, tookMs)
  if (headers) withoutWorkload(headers)
}

/** Counts an answer by its upstream, and in a series of {@link seriesOfAnswer}. */
export function countAnswered(upstream, status, series, tookMs) {
  var statuses = (upstream.counts || countsFor(upstream)).statuses
  statuses[status] = (statuses[status] || 0) + 1
  if (!series) return
  series.answers[status] = (series.answers[status] || 0) + 1
  series.sum = series.sum + tookMs
  series.count = series.count + 1
  var bucket = 0
  for (var i = 0; i < limits.length && tookMs > limits[i]; i = i + 1) bucket = i + 1
  if (bucket < limits.length) series.counts[bucket] = series.counts[bucket] + 1
}

/** What answers of the workload that is named in headers are counted in; undefined if they are not. */
export function seriesOfAnswer(headers) {
  var config = state.runtime.config
  return config.requestMetrics ? seriesOf(config.workload, headers) : undefined
}

/** Takes the names of a workload out of the headers of its answer. */
export function withoutWorkload(headers) {
  delete headers['osm-stats-namespace']
  delete headers['osm-stats-kind']
  delete headers['osm-stats-name']
  delete headers['osm-stats-pod']
}

// What is counted of the workload that has answered, whose names stand in its headers.
function seriesOf(workload, headers) {
  if (known.workload !== workload) known = { workload, texts: makeMemo(1000, 1024) }
  var names =
    headers['osm-stats-namespace'] +
    '\n' +
    headers['osm-stats-kind'] +
    '\n' +
    headers['osm-stats-name'] +
    '\n' +
    headers['osm-stats-pod']
  var found = known.texts.known.get(names)
  if (found) return found
  return recall(known.texts, names, () => seriesByText(labelsText(workload, headers)))
}

function seriesByText(text) {
  if (!durations[text]) durations[text] = { answers: {}, counts: limits.map(() => 0), sum: 0, count: 0 }
  return durations[text]
}

function labelsText(workload, headers) {
  var own = ownLabels(workload)
  return labelNames
    .map((label) => 'source_' + label + '="' + escapeLabel(own[label]) + '"')
    .concat(
      labelNames.map(
        (label) => 'destination_' + label + '="' + escapeLabel(headers['osm-stats-' + label] || 'unknown') + '"',
      ),
    )
    .join(',')
}

/** Counts what becomes of a connection or a request, by a name of upstream-metrics.js. */
export function countUpstream(upstream, name) {
  var numbers = (upstream.counts || countsFor(upstream)).numbers
  numbers[name] = (numbers[name] || 0) + 1
}

/** The numbers of an upstream by name, for what is counted too often to look them up each time. */
export function numbersOf(upstream) {
  return countsFor(upstream).numbers
}

/** Counts a connection that came too fast for a port. */
export function countLimitedConnection(port) {
  addTo(limitedConnections, port.id, 1)
}

/** Counts a request that a limit has looked at. */
export function countLimitedRequest(isTaken) {
  addTo(limitedRequests, 'enabled', 1)
  addTo(limitedRequests, isTaken ? 'ok' : 'rate_limited', 1)
}

/** Counts whether something of a request is kept. `what` is `tracing` or `logging`. */
export function countSample(direction, what, isKept) {
  addTo(samples, direction + '_http_' + what + '_sampled_' + (isKept ? 1 : 0), 1)
}

/** Counts what a plugin has thrown. */
export function countPluginFailure(name) {
  addTo(pluginFailures, name, 1)
}

/** What upstreams are counted by, one a line, by the names that Envoy has for it; and how many connections a change of policy can end. */
export function statistics() {
  var lines = []
  Object.keys(upstreams.byId)
    .sort()
    .forEach((id) => {
      var numbers = Object.assign(classesOf(upstreams.byId[id].statuses), upstreams.byId[id].numbers)
      Object.keys(numbers)
        .sort()
        .forEach((name) => void lines.push('cluster.' + id + '.' + name + ': ' + numbers[name]))
    })
  lines = lines.concat(arrivalLines())
  lines.push('server.tracked_connections: ' + trackedConnections())
  lines.push('server.under_way: ' + state.underWay)
  return lines.join('\n') + '\n'
}

// Answers by the first digit of their status.
function classesOf(statuses) {
  var classes = {}
  Object.keys(statuses).forEach((status) => addTo(classes, 'upstream_rq_' + status.charAt(0) + 'xx', statuses[status]))
  return classes
}

/** All metrics. */
export function exposition() {
  var lines = [].concat(
    numberLines('sidecar_server_live', 'gauge', [['', 1]]),
    upstreamLines(upstreams, activeConnections),
    numberLines('sidecar_local_rate_limit_inbound', 'counter', labelled('label', limitedConnections)),
    numberLines('http_local_rate_limiter', 'counter', labelled('http_local_rate_limit', limitedRequests)),
    sampleLines(),
    numberLines('sidecar_tracing_zipkin_spans_sent', 'counter', [['', spanCounts.sent]]),
    numberLines('sidecar_tracing_zipkin_spans_dropped', 'counter', [['', spanCounts.dropped]]),
    numberLines('sidecar_tracing_zipkin_reports_sent', 'counter', [['', spanCounts.batches - spanCounts.failures]]),
    numberLines('sidecar_tracing_zipkin_reports_dropped', 'counter', [['', spanCounts.failures]]),
    numberLines('sidecar_remote_logging_records_sent', 'counter', [['', recordCounts.sent]]),
    numberLines('sidecar_remote_logging_records_dropped', 'counter', [['', recordCounts.dropped]]),
    numberLines('sidecar_remote_logging_reports_sent', 'counter', [['', recordCounts.batches - recordCounts.failures]]),
    numberLines('sidecar_remote_logging_reports_dropped', 'counter', [['', recordCounts.failures]]),
    tunnelLines(),
    numberLines('sidecar_http1_refused_messages_total', 'counter', refusedMessages()),
    numberLines('sidecar_plugin_failures_total', 'counter', labelled('plugin', pluginFailures)),
    requestLines(),
  )
  return lines.join('\n') + '\n'
}

// Lines of one metric; values by the text of their labels.
function numberLines(name, kind, values) {
  if (values.length === 0) return []
  return ['# TYPE ' + name + ' ' + kind].concat(values.map((value) => name + value[0] + ' ' + value[1]))
}

function labelled(label, numbers) {
  return Object.keys(numbers)
    .sort()
    .map((key) => ['{' + label + '="' + escapeLabel(key) + '"}', numbers[key]])
}

function sampleLines() {
  var lines = []
  sampleNames.forEach((name) => {
    numberLines(name, 'counter', [['', samples[name] || 0]]).forEach((line) => void lines.push(line))
  })
  return lines
}

function requestLines() {
  var texts = Object.keys(durations).sort()
  if (texts.length === 0) return []
  var totals = {}
  texts.forEach((text) =>
    Object.entries(durations[text].answers).forEach(
      (entry) => void (totals['osm_request_total{response_code="' + entry[0] + '",' + text + '}'] = entry[1]),
    ),
  )
  var lines = ['# TYPE osm_request_total counter']
  Object.keys(totals)
    .sort()
    .forEach((key) => void lines.push(key + ' ' + totals[key]))
  lines.push('# TYPE osm_request_duration_ms histogram')
  texts.forEach((text) =>
    histogramLines('osm_request_duration_ms', text, limits, histogramOf(durations[text])).forEach(
      (line) => void lines.push(line),
    ),
  )
  return lines
}

// Each bucket holds those before it.
function histogramOf(series) {
  var buckets = {}
  var sum = 0
  limits.forEach((limit, i) => {
    sum = sum + series.counts[i]
    buckets[limit] = sum
  })
  return { buckets, sum: series.sum, count: series.count }
}

function countsFor(upstream) {
  if (!upstream.counts) upstream.counts = lookedUp(upstream)
  return upstream.counts
}

function lookedUp(upstream) {
  return countsOf(upstreams, upstream.id, (id) => Boolean(state.runtime.upstreams[id]) || id === 'passthrough')
}

function activeConnections(id) {
  var runtime = state.runtime
  if (!runtime) return 0
  if (id === 'passthrough') return runtime.passthrough.dialled.pool.open + runtime.passthrough.named.pool.open
  return runtime.upstreams[id] ? runtime.upstreams[id].pool.open : 0
}

function ownLabels(workload) {
  return { namespace: workload.namespace, kind: workload.kind, name: workload.name, pod: workload.instance }
}
