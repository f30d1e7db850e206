import { setTimeout as sleep } from 'node:timers/promises'
import type { CallAnswer } from '@osm-ts/driver-testkit/testing'
import type { CallOptions, Caller } from './caller.js'

const timesInARow = 5
const limitMs = 120_000
const everyMs = 100
const permissionDenied = 7

/** How an expectation is met. */
export interface ExpectationOptions extends CallOptions {
  /** Answers in a row; five when left out. */
  readonly times?: number
  readonly timeoutMs?: number
}

/** The call succeeds, five times in a row within two minutes. */
export function works(caller: Caller, url: string, options: ExpectationOptions = {}): Promise<readonly CallAnswer[]> {
  return answered(caller, url, { ...options, what: 'works', accept: isSuccess })
}

/** The mesh refuses the call, five times in a row within two minutes: no connection, one that is cut, or a refusal in HTTP or gRPC. */
export function denied(caller: Caller, url: string, options: ExpectationOptions = {}): Promise<readonly CallAnswer[]> {
  return answered(caller, url, { ...options, what: 'is denied', accept: isDenied })
}

/** The call gets such an answer, five times in a row within two minutes; gives the answers. */
export async function answered(
  caller: Caller,
  url: string,
  {
    what,
    accept,
    times = timesInARow,
    timeoutMs = limitMs,
    ...call
  }: ExpectationOptions & { readonly what: string; readonly accept: (answer: CallAnswer) => boolean },
): Promise<readonly CallAnswer[]> {
  const deadline = performance.now() + timeoutMs
  let row: CallAnswer[] = []
  for (;;) {
    const answer = await caller.call(url, call)
    row = accept(answer) ? [...row, answer] : []
    if (row.length === times) return row
    if (performance.now() > deadline)
      throw new Error(
        `${url} from ${caller.name}: never ${what} ${times} times in a row within ${timeoutMs / 1000} s; last: ${JSON.stringify(answer)}`,
      )
    if (row.length === 0) await sleep(everyMs)
  }
}

/** Whether a call was answered as asked. */
export function isSuccess({ status, code, received, error }: CallAnswer): boolean {
  if (error !== undefined) return false
  if (code !== undefined) return code === 0
  return status === 200 || (status === 0 && received !== undefined)
}

function isDenied({ status, code, received, closed, error }: CallAnswer): boolean {
  if (error !== undefined) return /ECONNREFUSED|ECONNRESET|EPIPE|hang up|closed|disconnected/.test(error)
  if (code !== undefined) return code === permissionDenied
  return status === 403 || (status === 0 && received === undefined && closed === true)
}

/** The name that the test application of an answer has, and that of its pod. */
export function speakerOf({ body = '' }: CallAnswer): { readonly server: string; readonly instance: string } {
  return JSON.parse(body) as { readonly server: string; readonly instance: string }
}
