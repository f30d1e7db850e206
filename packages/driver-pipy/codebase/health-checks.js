// What checks of endpoints have found so far, and which of them are due.

/** Nothing is known yet: endpoints are used until checks say otherwise. */
export function makeChecks() {
  return { byAddress: {} }
}

/**
 * Sees to it that there is a check of each address, and of no other.
 *
 * @param firstAt - gives the time of the first check of a new one
 */
export function settleChecks(checks, addresses, firstAt) {
  var before = checks.byAddress
  checks.byAddress = {}
  addresses.forEach((address) => {
    checks.byAddress[address] = before[address] || {
      address,
      due: firstAt(),
      isRunning: false,
      good: 0,
      bad: 0,
      isOut: false,
    }
  })
}

/** `{ upstream, check }` for those that are due and not under way, those first that have waited longest; as many as there is room for. */
export function dueChecks(upstreams, now, room) {
  var due = []
  upstreams.forEach((upstream) =>
    Object.values(upstream.checks.byAddress).forEach((check) => {
      if (!check.isRunning && check.due <= now) due.push({ upstream, check })
    }),
  )
  return due.sort((a, b) => a.check.due - b.check.due).slice(0, Math.max(0, room))
}

/** Begins a check. */
export function beginCheck(check, settings, now) {
  check.isRunning = true
  check.due = now + settings.intervalMs
}

/** Ends one: an endpoint is left out after so many in a row that failed, and used again after so many that did not. */
export function endCheck(check, settings, isGood) {
  check.isRunning = false
  check.good = isGood ? check.good + 1 : 0
  check.bad = isGood ? 0 : check.bad + 1
  if (check.bad >= settings.unhealthyThreshold) check.isOut = true
  if (check.good >= settings.healthyThreshold) check.isOut = false
}

/** True while checks say that an endpoint is not to be used. */
export function isOut(checks, address) {
  var check = checks ? checks.byAddress[address] : undefined
  return Boolean(check && check.isOut)
}

/** How many endpoints are not left out. */
export function healthyCount(checks) {
  return Object.values(checks.byAddress).filter((check) => !check.isOut).length
}
