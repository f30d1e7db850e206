// Records of requests, with the beginnings of their bodies, for an HTTP collector.

import { continueTrace, idOf, readTrace, writeTrace } from './b3.js'
import { enqueue, makeQueue, postJSON } from './collector.js'
import { isRecorded, MOST_BODY, recordOf } from './log-record.js'
import { countSample, recordCounts } from './metrics.js'
import { state } from './state.js'

// How often records are sent before they are lost.
var TRIES = 3

/** Where records of a configuration go. */
export function makeRecorder(settings) {
  var post = postJSON({
    address: settings.address,
    path: settings.path,
    headers: () => (settings.authorization ? { authorization: authorizationOf(settings) } : undefined),
  })
  var send = (records) => (isAllowed(settings) ? post(records) : new Promise((resolve) => resolve(false)))
  return makeQueue(send, (seconds) => new Timeout(seconds).wait(), recordCounts, TRIES)
}

/**
 * Begins the record of a request, and has its headers name a trace where that is requested.
 *
 * @param trace - the one that it has been given already; see spans.js
 * @returns {unknown} what keeps the beginnings of its bodies; undefined if it is not recorded
 */
export function beginRecord(direction, headers, trace) {
  var settings = state.runtime ? state.runtime.config.remoteLog : undefined
  if (!settings) return undefined
  var own = trace || traceFor(direction, headers, settings.level)
  var isKept = isRecorded(settings.fraction, own.trace, () => Math.random())
  countSample(direction, 'logging', isKept)
  return isKept ? { trace: own, received: new Data(), sent: new Data() } : undefined
}

/** Keeps what may be kept of a body; `side` is `received` or `sent`. */
export function keepBody(record, side, data) {
  var left = MOST_BODY - record[side].size
  if (left > 0 && data.size > 0) record[side].push(new Data(data).shift(left))
}

/** Reports a request that is over. */
export function endRecord(entry) {
  var runtime = state.runtime
  if (!entry.record || !runtime.records) return
  var config = runtime.config
  // Nothing waits for what its collector must be shown.
  if (!isAllowed(config.remoteLog)) {
    recordCounts.dropped = recordCounts.dropped + 1
    return
  }
  var about = {
    workload: config.workload,
    remoteLog: config.remoteLog,
    host: os.env.HOSTNAME || '',
    trace: entry.record.trace,
    received: entry.record.received.toString('base64'),
    sent: entry.record.sent.toString('base64'),
  }
  enqueue(runtime.records, recordOf(entry, about))
}

// Whatever is written into headers here says nothing of whether somebody else keeps spans.
function traceFor(direction, headers, level) {
  var known = readTrace(headers)
  if (level < (direction === 'inbound' ? 1 : 2)) return known
  if (known.trace && direction === 'inbound') return known
  var trace = continueTrace(
    known,
    direction === 'inbound',
    () => idOf(algo.uuid()),
    () => undefined,
  )
  writeTrace(headers, trace)
  if (trace.sampled === undefined) delete headers['x-b3-sampled']
  return trace
}

function isAllowed(settings) {
  return !settings.authorization || authorizationOf(settings) !== undefined
}

function authorizationOf(settings) {
  var material = state.runtime.further.byKey[settings.authorization]
  return material ? material.headerValue : undefined
}
