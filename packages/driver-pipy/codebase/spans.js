// Spans of requests: which trace they belong to, and what a collector of Zipkin is told of them.

import { continueTrace, idOf, readTrace, writeTrace } from './b3.js'
import { enqueue, makeQueue, postJSON } from './collector.js'
import { countSample, spanCounts } from './metrics.js'
import { state } from './state.js'

/** Characters of a URL that a span shows, as with the other sidecar class. */
export var MOST_URL = 256

/** Where spans of a configuration go. */
export function makeReporter(settings) {
  var post = postJSON({ address: settings.address, path: settings.path })
  return makeQueue(post, (seconds) => new Timeout(seconds).wait(), spanCounts)
}

/**
 * Begins the span of a request and has its headers say so.
 *
 * @returns {unknown} the trace, or undefined while there is no tracing
 */
export function beginSpan(direction, headers) {
  var settings = state.runtime ? state.runtime.config.tracing : undefined
  if (!settings) return undefined
  var trace = continueTrace(
    readTrace(headers),
    direction === 'inbound',
    () => idOf(algo.uuid()),
    () => settings.fraction >= 1 || Math.random() < settings.fraction,
  )
  writeTrace(headers, trace)
  countSample(direction, 'tracing', trace.sampled)
  return trace
}

/** Reports the span of a request that is over; see access-log.js for what is known of it. */
export function endSpan(entry) {
  var runtime = state.runtime
  if (!entry.trace || !entry.trace.sampled || !runtime.spans) return
  enqueue(runtime.spans, spanOf(entry, runtime.config.workload.identity))
}

/** What Zipkin, version 2, has for a span. Queries stay out: they may hold what is not for others. */
export function spanOf(entry, serviceName) {
  var request = entry.request
  var trace = entry.trace
  var status = entry.head ? entry.head.status : 0
  var tags = {
    component: 'proxy',
    'http.method': request.method,
    'http.url': (request.scheme + '://' + request.authority + request.path).substring(0, MOST_URL),
    'http.protocol': request.protocol,
    'http.status_code': '' + status,
    request_size: '' + entry.received,
    response_size: '' + entry.sent,
    response_flags: entry.flag || '-',
    'peer.address': entry.conn.source,
  }
  if (entry.cluster) tags.upstream_cluster = entry.cluster
  if (entry.address) tags.upstream_address = entry.address
  addHeader(tags, 'user_agent', request.headers['user-agent'])
  addHeader(tags, 'guid:x-request-id', request.headers['x-request-id'])
  if (status === 0 || status >= 500) tags.error = 'true'
  var span = {
    traceId: trace.trace,
    id: trace.span,
    kind: entry.direction === 'inbound' ? 'SERVER' : 'CLIENT',
    name: request.authority,
    timestamp: entry.since * 1000,
    duration: Math.max(1, (entry.ended - entry.since) * 1000),
    localEndpoint: { serviceName },
    tags,
  }
  if (trace.parent) span.parentId = trace.parent
  if (trace.isShared) span.shared = true
  return span
}

function addHeader(tags, name, value) {
  if (typeof value === 'string') tags[name] = value.substring(0, MOST_URL)
}
