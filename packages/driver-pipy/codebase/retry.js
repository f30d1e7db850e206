// When a request is repeated.

// gRPC statuses by the words of retry conditions.
var grpcWords = { cancelled: 1, 'deadline-exceeded': 4, 'resource-exhausted': 8, internal: 13, unavailable: 14 }

/** What the pool calls an answer of no one, where there was no connection. */
export var connectErrors = ['Connection Refused', 'Cannot Resolve', 'Gateway Timeout']

/**
 * True if an answer, or none, is one of those that are tried again.
 *
 * @param conditions - words as Envoy has them, or statuses
 * @param answer - `{ status, grpcStatus, local }`; `local` where no one answered: `connect`, `reset`, `timeout`, or `overflow` for want of a connection
 */
export function isRetriable(conditions, answer) {
  // More tries are no help against too many of them.
  if (answer.local === 'overflow') return false
  return conditions.some((condition) => {
    if (condition === '5xx') return answer.local || (answer.status >= 500 && answer.status < 600)
    if (condition === 'gateway-error') return answer.status >= 502 && answer.status <= 504
    if (condition === 'connect-failure' || condition === 'refused-stream') return answer.local === 'connect'
    if (condition === 'reset') return Boolean(answer.local)
    if (condition === 'retriable-4xx') return !answer.local && answer.status === 409
    if (grpcWords[condition] !== undefined) return answer.grpcStatus === grpcWords[condition]
    return !answer.local && condition === '' + answer.status
  })
}

/** Milliseconds before a repetition: a random share of a time that doubles, up to ten times the base. */
export function backoff(baseMs, attempt, random) {
  var limit = Math.min(baseMs * Math.pow(2, attempt), baseMs * 10)
  return Math.floor(random * limit)
}
