// Asks endpoints by itself whether they are there: over mutual TLS, with the check of who answers, as requests go.

import { beginCheck, dueChecks, endCheck, healthyCount } from './health-checks.js'
import { isOwnAddress } from './own-listeners.js'
import { meshClient } from './mesh-client.js'
import { countUpstream, numbersOf } from './metrics.js'
import { state } from './state.js'

var LOOK_SECONDS = 0.25
// So many at a time, however many endpoints there are.
var AT_ONCE = 32

// `{ upstream, check, session, answer(isGood) }`; a session is a connection that is kept from check to check.
var $probe

var running = 0

/** Runs the checks that configurations ask for, forever. */
export function startActiveChecks() {
  new Timeout(LOOK_SECONDS).wait().then(startActiveChecks)
  runDueChecks()
}

/** Templates that reach an endpoint with the trust of a runtime. */
export function checkTemplates(runtime) {
  var tlsOf = () => $probe.upstream.settings.tls
  return {
    http: meshClient(runtime, tlsOf, connection),
    tcp: meshClient(runtime, tlsOf, connection, (session) => {
      if (session.state === 'connected') $probe.answer(true)
    }),
  }
}

var connection = pipeline(($) =>
  $.connect(
    () => $probe.check.address,
    () => {
      var probe = $probe
      return {
        connectTimeout: probe.upstream.settings.check.timeoutMs / 1000,
        onState: (outbound) => noteState(probe, outbound),
      }
    },
  ),
)

var askByHttp = pipeline(($) =>
  $.onStart((probe) => {
    $probe = probe
    return [new Message(requestOf(probe.upstream)), new StreamEnd()]
  })
    .muxHTTP(
      () => $probe.session,
      () => ({ version: $probe.upstream.settings.http2 ? 2 : 1, maxIdle: idleSeconds($probe.upstream) }),
    )
    .to(($) => $.pipe(() => ($probe.upstream.settings.tls ? state.runtime.checks.http : connection)))
    // What the pool answers where no one does is not a 200.
    .handleMessageStart((start) => $probe.answer(start.head.status === 200))
    .onEnd(() => $probe.answer(false)),
)

var askByTcp = pipeline(($) =>
  $.onStart((probe) => {
    $probe = probe
    return new Data()
  })
    .pipe(() => ($probe.upstream.settings.tls ? state.runtime.checks.tcp : connection))
    .onEnd(() => $probe.answer(false)),
)

function requestOf(upstream) {
  var settings = upstream.settings
  var headers = { host: settings.tls ? settings.tls.serverName : upstream.id }
  headers[settings.check.header] = '1'
  return { method: 'GET', path: settings.check.path, headers }
}

// Longer than from one check to the next.
function idleSeconds(upstream) {
  return (2 * upstream.settings.check.intervalMs) / 1000
}

function runDueChecks() {
  if (!state.runtime) return
  var now = Date.now()
  var checked = Object.values(state.runtime.upstreams).filter((upstream) => upstream.checks)
  dueChecks(checked, now, AT_ONCE - running).forEach((each) => run(each.upstream, each.check, now))
  checked.forEach((upstream) => void (numbersOf(upstream).membership_healthy = healthyCount(upstream.checks)))
}

function run(upstream, check, now) {
  var settings = upstream.settings.check
  // This sidecar itself: each check would be the next one's reason.
  if (isOwnAddress(check.address)) return void (check.due = now + settings.intervalMs)
  var isTcp = settings.kind === 'tcp'
  // What is kept is of no use to those who trust others, or are somebody else.
  var key = JSON.stringify(upstream.settings.tls || null) + state.runtime.identityKey
  if (isTcp || !check.session || check.session.key !== key) check.session = { key }
  var session = check.session
  var clock = new Timeout(settings.timeoutMs / 1000)
  var isAnswered = false
  var answer = (isGood) => {
    if (isAnswered) return
    isAnswered = true
    clock.cancel()
    running = running - 1
    endCheck(check, settings, isGood)
    countUpstream(upstream, isGood ? 'health_check.success' : 'health_check.failure')
    if (isGood && !isTcp) return
    if (check.session === session) check.session = undefined
    // Not at once: this may be said on an event of that very connection.
    new Timeout(0).wait().then(() => session.cut && session.cut())
  }
  running = running + 1
  beginCheck(check, settings, now)
  countUpstream(upstream, 'health_check.attempt')
  clock.wait().then(
    () => answer(false),
    () => {},
  )
  ;(isTcp ? askByTcp : askByHttp).spawn({ upstream, check, session, answer })
}

function noteState(probe, outbound) {
  if (outbound.state === 'closed') {
    probe.session.cut = undefined
    if (probe.check.session === probe.session) probe.check.session = undefined
    return
  }
  probe.session.cut = () => outbound.close()
  if (outbound.state === 'connected' && probe.upstream.settings.check.kind === 'tcp' && !probe.upstream.settings.tls) {
    probe.answer(true)
  }
}
