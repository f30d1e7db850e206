import { compareText, type RetryPolicy } from '@osm-ts/driver-api/policy'

import { parseDuration } from '../../../config/index.js'
import type { HTTPRouteRule } from '../../../spec/index.js'
import type { RuleFaults } from './rule-faults.js'

/** Repetitions of one request at most: each is another request to the backend, and the client waits for all of them. */
const MAX_ATTEMPTS = 100

/** How long the requests of a rule may take, and when they are sent again. */
interface RouteTimes {
  /** Of all attempts together, in milliseconds; 0 means none. */
  readonly timeoutMs: number
  readonly retries: RetryPolicy | undefined
}

/** Timeouts and retries in the terms of the policy. Without retries, there is one attempt, which the shorter timeout is for. */
export function routeTimes(
  { timeouts = {}, retry }: Pick<HTTPRouteRule, 'timeouts' | 'retry'>,
  field: string,
  faults: RuleFaults,
): RouteTimes {
  const request = milliseconds(timeouts.request, `${field}.timeouts.request`, faults)
  const attempt = milliseconds(timeouts.backendRequest, `${field}.timeouts.backendRequest`, faults)
  if (retry === undefined) {
    const found = [request, attempt].filter((time) => time > 0)
    return { timeoutMs: found.length === 0 ? 0 : Math.min(...found), retries: undefined }
  }
  const { codes = [], attempts = 1, backoff } = retry
  if (attempts > MAX_ATTEMPTS)
    faults.add('OSM_SPEC_ROUTE_VALUE', `${field}.retry.attempts`, `must be from 1 to ${MAX_ATTEMPTS}, not ${attempts}`)
  const backoffMs = milliseconds(backoff, `${field}.retry.backoff`, faults)
  return {
    timeoutMs: request,
    retries: {
      // No answer at all: a connection that fails or breaks, or an attempt that takes too long.
      retryOn: ['reset', ...new Set(codes.map(String))].sort(compareText),
      numRetries: attempts,
      ...(attempt > 0 ? { perTryTimeoutMs: attempt } : {}),
      ...(backoffMs > 0 ? { backoffBaseIntervalMs: backoffMs } : {}),
    },
  }
}

/** Durations of the Gateway API are those of Go without signs, fractions and small units. */
const duration = /^([0-9]{1,5}(h|m|s|ms)){1,4}$/

/** 0 if absent. */
function milliseconds(text: string | undefined, field: string, faults: RuleFaults): number {
  if (text === undefined) return 0
  const found = duration.test(text) ? parseDuration(text) : undefined
  if (found === undefined)
    faults.add('OSM_SPEC_DURATION', field, `must be a duration such as 500ms or 10s, not ${JSON.stringify(text)}`)
  return found ?? 0
}
