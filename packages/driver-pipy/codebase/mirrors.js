// Copies of requests, which routes have sent to other services. No one waits for them: a copy that cannot be sent is dropped, and so is its answer.

import { failureOf, noteFailure } from './call-failures.js'
import { countAnswered } from './metrics.js'
import { connectErrors } from './retry.js'
import { state } from './state.js'
import { beginTry, leaveCall, startClocks } from './tries.js'
import { requestUpstream } from './upstream.js'
import { isBrokenOff, isDelimited } from './whole.js'

// Copies under way at most, in number and in bytes of their bodies; longer requests are not copied.
var MOST_COPIES = 1000
var MOST_BYTES = 16777216
var LONGEST_BODY = 1048576
var MILLION = 1000000

var underWay = { copies: 0, bytes: 0 }

// The copy, see beginTry; with its `head` and `body`.
var $call
var $isDelimited

/**
 * Decides which copies of a request are sent, now that it is as it continues. Undefined for none. Connections that become those of another protocol have none.
 *
 * @param route - with the copies that are to be sent
 * @param source - the caller's address
 */
export function beginCopies(route, head, source) {
  if (head.headers.upgrade !== undefined) return undefined
  var drawn = route.mirrors.filter((mirror) => Math.random() * MILLION < mirror.perMillion)
  if (drawn.length === 0) return undefined
  var copied = Object.assign({}, head, { headers: Object.assign({}, head.headers) })
  return {
    ids: drawn.map((mirror) => mirror.upstream),
    head: copied,
    body: new Data(),
    timeoutMs: route.timeoutMs,
    source,
  }
}

/** Keeps a part of the body of a request for its copies. */
export function keepForCopies(copies, data) {
  if (!copies.body) return
  copies.body.push(new Data(data))
  if (copies.body.size > LONGEST_BODY) copies.body = undefined
}

/** Sends the copies of a request that has come to its end. */
export function sendCopies(copies) {
  var body = copies.body
  if (!body) return
  copies.body = undefined
  var headers = copies.head.headers
  // It is sent as a whole now.
  delete headers['transfer-encoding']
  if (headers['content-length'] !== undefined) headers['content-length'] = '' + body.size
  copies.ids.forEach((id) => send(copies, id, body))
}

function send(copies, id, body) {
  var upstream = state.runtime.upstreams[id]
  if (!upstream) return
  var most = upstream.settings.maxRequests
  if (most !== undefined && upstream.load.requests >= most) return
  if (underWay.copies >= MOST_COPIES || underWay.bytes + body.size > MOST_BYTES) return
  underWay.copies = underWay.copies + 1
  underWay.bytes = underWay.bytes + body.size
  upstream.load.requests = upstream.load.requests + 1
  // Each is written by itself, which may add to its headers.
  var head = Object.assign({}, copies.head, { headers: Object.assign({}, copies.head.headers) })
  sendCopy.spawn({
    upstream,
    head,
    body: new Data(body),
    size: body.size,
    source: copies.source,
    timeoutMs: copies.timeoutMs,
    attempts: 0,
    isRetry: false,
  })
}

var nowhere = pipeline(($) => $.replaceData().replaceMessage(() => new Message({ status: 502 })))

var sendCopy = pipeline(($) =>
  $.onStart((call) => {
    $call = call
    $isDelimited = false
    beginTry(call)
    startClocks(call)
    return [new MessageStart(call.head), call.body, new MessageEnd(), new StreamEnd()]
  })
    .wait(() => $call.ready)
    .pipe(
      () => ($call.slot ? requestUpstream : nowhere),
      () => [$call],
    )
    .handleMessageStart(noteHead)
    .handleMessageEnd((end) => void ($call.isAnswered = !$call.failed && !($isDelimited && isBrokenOff(end))))
    .onEnd(leave),
)

// What the pool makes itself where no one answers has no headers.
function noteHead(start) {
  var head = start.head
  if ((head.status === 502 || head.status === 504) && Object.keys(head.headers || {}).length === 0) {
    noteFailure($call, failureOf($call, connectErrors.includes(head.statusText)))
    return
  }
  $isDelimited = !$call.upstream.settings.http2 && isDelimited(head)
  countAnswered($call.upstream, head.status, undefined, 0)
}

function leave() {
  var call = $call
  leaveCall(call)
  call.upstream.load.requests = call.upstream.load.requests - 1
  underWay.copies = underWay.copies - 1
  underWay.bytes = underWay.bytes - call.size
}
