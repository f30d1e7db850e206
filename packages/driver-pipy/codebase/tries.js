// Tries of a request: each has an endpoint, a connection, and a time to answer in.

import { leaveSlot, takeSlot } from './connections.js'
import { countUpstream } from './metrics.js'
import { pickEndpoint } from './upstream.js'
import { pickGateway } from './gateways.js'
import { state } from './state.js'

/**
 * Begins a try of a call. Afterwards `ready` is true, or a promise for it; then `slot` is there, or `failed` says why not, or there is no endpoint.
 *
 * @param call - `{ upstream, retries, isAlone, … }`, see pickEndpoint
 */
export function beginTry(call) {
  call.link = undefined
  call.failed = undefined
  call.isAnswered = false
  call.isCounted = false
  call.ready = true
  call.gateway = undefined
  if (call.isOver || !pickEndpoint(call) || (call.way && !pickGateway(call))) return
  var byAddress = call.upstream.load.byAddress
  byAddress[call.address] = (byAddress[call.address] || 0) + 1
  call.countedAddress = call.address
  countUpstream(call.upstream, 'upstream_rq_total')
  var settings = call.upstream.settings
  call.limits = settings
  call.capacity = settings.http2 ? 100 : 1
  call.isSingle = call.isAlone
  // A try is cut off by closing its connection, which no one else may have then.
  call.isWhole = call.timeoutMs > 0 || (call.retries !== undefined && call.retries.tryTimeoutMs > 0)
  var found = takeSlot(call.upstream.pool, call)
  if (found === 'full') {
    call.failed = 'overflow'
    countUpstream(call.upstream, 'upstream_rq_pending_overflow')
  } else if (found === 'wait')
    call.ready = new Promise((resolve) => void (call.give = (slot) => resolve(take(call, slot))))
  else call.link = found.link
  if (call.isSent && call.retries) startTryClock(call)
}

/**
 * Begins the only try of a call that nothing limits, and that may share its connection before and after. Most find one that is idle, at the one address there is: what
 * would be looked up for them is done here, because each function that is called costs as much as all that it does.
 */
export function beginPlainTry(call) {
  var upstream = call.upstream
  var lists = upstream.settings.addresses.priorities
  var plain = upstream.plain
  if (
    plain &&
    plain.identity === state.runtime.identityKey &&
    lists.length === 1 &&
    lists[0].length === 1 &&
    !upstream.checks
  ) {
    var idle = upstream.pool.idle[plain.key]
    var slot = idle ? idle[idle.length - 1] : undefined
    if (slot && slot.link.isConnected && upstream.health[plain.address] === undefined) {
      idle.pop()
      slot.active = 1
      slot.link.wishes = [call]
      call.slot = slot
      call.link = slot.link
      call.address = plain.address
      call.countedAddress = plain.address
      var byAddress = upstream.load.byAddress
      byAddress[plain.address] = (byAddress[plain.address] || 0) + 1
      var numbers = upstream.counts.numbers
      numbers.upstream_rq_total = numbers.upstream_rq_total + 1
      return
    }
  }
  beginTry(call)
  if (call.slot && lists.length === 1 && lists[0].length === 1)
    upstream.plain = { key: call.key, address: call.address, identity: state.runtime.identityKey }
}

/** Ends a call of {@link beginPlainTry}: its connection is kept if its answer came to its end. */
export function leavePlainCall(call) {
  var slot = call.slot
  var pool = call.upstream.pool
  var idle = slot ? pool.idle[slot.key] : undefined
  if (!call.isAnswered || !idle || slot.isForgotten || call.isPending || pool.waiting.length > 0) return leaveCall(call)
  call.slot = undefined
  slot.active = 0
  slot.link.wishes = []
  idle.push(slot)
  var byAddress = call.upstream.load.byAddress
  var address = call.countedAddress
  if (byAddress[address] > 1) byAddress[address] = byAddress[address] - 1
  else delete byAddress[address]
}

/** Ends a try, whatever has come of it. */
export function endTry(call) {
  if (call.tryClock) stop(call, 'tryClock')
  call.give = undefined
  if (call.countedAddress !== undefined) leaveAddress(call)
  leaveSlot(call.upstream.pool, call, call.isAnswered)
  if (call.isRetry) call.upstream.load.retries = call.upstream.load.retries - 1
  call.isRetry = false
}

/** The whole request has been read: time runs from now on. */
export function startClocks(call) {
  call.isSent = true
  if (call.retries) startTryClock(call)
  if (call.timeoutMs > 0) {
    start(call, 'clock', call.timeoutMs, () => {
      call.isOver = true
      countUpstream(call.upstream, 'upstream_rq_timeout')
      cut(call, 'timeout')
    })
  }
}

/** The answer has begun: what follows has the time of the whole request only. */
export function stopTryClock(call) {
  if (call.tryClock) stop(call, 'tryClock')
}

/** No one waits for the answer any more. */
export function leaveCall(call) {
  if (call.clock) stop(call, 'clock')
  endTry(call)
}

/** The caller disconnected. Connections of other calls are closed when those calls have ended. */
export function abandonCall(call) {
  call.isOver = true
  if (call.link) countUpstream(call.upstream, 'upstream_rq_tx_reset')
  if (call.link && call.link.wishes.length > 1) leaveSlot(call.upstream.pool, call, false)
  else end(call, 'gone')
}

/** Between two tries: the next one counts as a retry from now on. */
export function beginPause(call) {
  call.isRetry = true
  call.upstream.load.retries = call.upstream.load.retries + 1
}

/** A promise for the end of a pause before the next try, which is early when the time of the request is up. */
export function pause(call, ms) {
  return new Promise((resolve) => {
    call.wake = resolve
    new Timeout(ms / 1000).wait().then(() => resolve(true))
  })
}

function take(call, slot) {
  call.give = undefined
  call.link = slot ? slot.link : undefined
  return true
}

// Nothing is under way at the address of a try any more.
function leaveAddress(call) {
  var address = call.countedAddress
  call.countedAddress = undefined
  var byAddress = call.upstream.load.byAddress
  if (byAddress[address] > 1) byAddress[address] = byAddress[address] - 1
  else delete byAddress[address]
}

function startTryClock(call) {
  var ms = call.retries.tryTimeoutMs
  if (!(ms > 0)) return
  start(call, 'tryClock', ms, () => {
    countUpstream(call.upstream, 'upstream_rq_per_try_timeout')
    cut(call, 'timeout')
  })
}

function cut(call, reason) {
  if (call.link) countUpstream(call.upstream, 'upstream_rq_tx_reset')
  end(call, reason)
}

function end(call, reason) {
  call.failed = reason
  if (call.wake) call.wake(false)
  if (call.give) call.give(undefined)
  else if (call.link && call.link.cut) call.link.cut()
}

function start(call, name, ms, whenUp) {
  var clock = new Timeout(ms / 1000)
  call[name] = clock
  clock.wait().then(
    () => {
      if (call[name] === clock) whenUp()
    },
    () => {},
  )
}

function stop(call, name) {
  var clock = call[name]
  call[name] = undefined
  if (clock) clock.cancel()
}
