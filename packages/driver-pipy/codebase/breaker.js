// Statistical circuit breakers: counts of answers in windows that follow each other.

/** A closed circuit. */
export function makeBreaker(settings, now) {
  return { settings, since: now, answers: 0, errors: 0, slow: 0, openUntil: 0, turn: 0 }
}

/** True while requests are answered in place of the upstream. */
export function isOpen(breaker, now) {
  if (breaker.openUntil === 0) return false
  if (now < breaker.openUntil) return true
  restart(breaker, now)
  return false
}

/** Counts an answer to a request that began in the given turn of the breaker: answers to requests from before it opened are not counted. */
export function countAnswer(breaker, turn, isError, tookMs, now) {
  if (turn !== breaker.turn || breaker.openUntil !== 0) return
  var settings = breaker.settings
  if (now - breaker.since >= settings.windowMs) {
    breaker.since = breaker.since + Math.floor((now - breaker.since) / settings.windowMs) * settings.windowMs
    breaker.answers = 0
    breaker.errors = 0
    breaker.slow = 0
  }
  breaker.answers = breaker.answers + 1
  if (isError) breaker.errors = breaker.errors + 1
  if (settings.slowMs !== undefined && tookMs >= settings.slowMs) breaker.slow = breaker.slow + 1
  if (breaker.answers < settings.minRequests) return
  if (
    reaches(breaker.errors, settings.errorAmount, settings.errorRatio, breaker.answers) ||
    reaches(breaker.slow, settings.slowAmount, settings.slowRatio, breaker.answers)
  ) {
    breaker.openUntil = now + settings.openMs
    breaker.turn = breaker.turn + 1
  }
}

function reaches(count, amount, ratio, answers) {
  if (amount !== undefined && count >= amount) return true
  return ratio !== undefined && count >= ratio * answers
}

function restart(breaker, now) {
  breaker.since = now
  breaker.answers = 0
  breaker.errors = 0
  breaker.slow = 0
  breaker.openUntil = 0
}
