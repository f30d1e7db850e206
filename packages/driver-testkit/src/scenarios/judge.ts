import { isDeepStrictEqual } from 'node:util'

import type { CallAnswer } from '../actor/protocol.js'
import type { Count } from './format.js'
import type { Sending } from './make-call.js'

/** What is wrong with the answers; empty if nothing is. */
export function judge(expectation: Sending, answers: readonly CallAnswer[]): readonly string[] {
  switch (expectation.kind) {
    case 'http':
      return [
        ...each(answers, (answer) => statusFaults(expectation.status, answer)),
        ...statusesFaults(expectation.statuses, answers),
        ...responseFaults(expectation, answers),
      ]
    case 'grpc':
      return [
        ...each(answers, (answer) => codeFaults(expectation.code, answer)),
        ...responseFaults(expectation, answers),
      ]
    case 'websocket':
      return each(answers, (answer) => [
        ...statusFaults(expectation.status, answer),
        ...lineFaults(expectation, answer),
      ])
    case 'tcp':
    case 'kept':
      return each(answers, (answer) => lineFaults(expectation, answer))
  }
}

/** True if a number is what was requested. */
export function fits(count: Count, value: number): boolean {
  if (typeof count === 'number') return value === count
  return value >= count[0] && value <= count[1]
}

function each(answers: readonly CallAnswer[], faults: (answer: CallAnswer) => readonly string[]): readonly string[] {
  const found = answers.flatMap(faults)
  return [...new Set(found)].map((fault) => {
    const times = found.filter((other) => other === fault).length
    return times === 1 ? fault : `${fault} (${times} times)`
  })
}

function statusFaults(status: number | 'denied' | undefined, answer: CallAnswer): readonly string[] {
  if (status === undefined) return []
  const fitting = status === 'denied' ? answer.status === 0 || answer.status === 403 : answer.status === status
  return fitting ? [] : [`status ${said(answer)} instead of ${status}`]
}

function codeFaults(code: number | 'denied' | undefined, answer: CallAnswer): readonly string[] {
  if (code === undefined) return []
  const fitting =
    code === 'denied'
      ? answer.code === 7 || (answer.code === undefined && answer.status !== 200)
      : (answer.code ?? codesOfHttp.get(answer.status)) === code
  return fitting ? [] : [`gRPC status ${answer.code ?? 'none'}, HTTP status ${said(answer)} instead of ${code}`]
}

/** What clients of gRPC make of an answer without a status of gRPC: UNIMPLEMENTED and UNAVAILABLE. */
const codesOfHttp: ReadonlyMap<number, number> = new Map([
  [404, 12],
  [502, 14],
  [503, 14],
  [504, 14],
])

function said({ status, error, body }: CallAnswer): string {
  return `${status}${error === undefined ? '' : ` (${error})`}${status >= 400 && body !== undefined ? ` (${body.slice(0, 200)})` : ''}`
}

function statusesFaults(
  expected: Readonly<Record<string, Count>> | undefined,
  answers: readonly CallAnswer[],
): readonly string[] {
  if (expected === undefined) return []
  const counts = countBy(answers, ({ status }) => String(status))
  const names = [...new Set([...Object.keys(expected), ...counts.keys()])]
  return names.flatMap((name) => {
    const count = counts.get(name) ?? 0
    return fits(expected[name] ?? 0, count)
      ? []
      : [`${count} answers with status ${name} instead of ${JSON.stringify(expected[name] ?? 0)}`]
  })
}

function responseFaults(
  expectation: Extract<Sending, { readonly kind: 'http' | 'grpc' }>,
  answers: readonly CallAnswer[],
): readonly string[] {
  const { server, shares, responseHeaders = {}, seen = {} } = expectation
  return [
    ...each(answers, (answer) => {
      const told = toldBy(answer)
      return [
        ...(server === undefined || told.server === server
          ? []
          : [`answered by ${String(told.server)} instead of ${server}`]),
        ...differences(answer.headers ?? {}, responseHeaders, 'response header'),
        ...differences(told, seen, 'the server saw'),
      ]
    }),
    ...sharesFaults(shares, answers),
  ]
}

function toldBy({ body }: CallAnswer): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(body ?? '') as Readonly<Record<string, unknown>>
  } catch {
    // A proxy's own answer is not JSON.
    return {}
  }
}

/** What is not as expected; objects may have more than is expected of them, and null means that there is nothing. */
function differences(
  actual: Readonly<Record<string, unknown>>,
  expected: Readonly<Record<string, unknown>>,
  what: string,
): readonly string[] {
  return Object.entries(expected).flatMap(([name, value]) => {
    const found = actual[name]
    if (value === null && found === undefined) return []
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return differences(
        (found ?? {}) as Readonly<Record<string, unknown>>,
        value as Readonly<Record<string, unknown>>,
        `${what} ${name}`,
      )
    return isDeepStrictEqual(found, value)
      ? []
      : [`${what} ${name}: ${JSON.stringify(found)} instead of ${JSON.stringify(value)}`]
  })
}

function sharesFaults(
  shares: Readonly<Record<string, number>> | undefined,
  answers: readonly CallAnswer[],
): readonly string[] {
  if (shares === undefined) return []
  const counts = countBy(answers, (answer) => String(toldBy(answer).server))
  const names = [...new Set([...Object.keys(shares), ...counts.keys()])]
  return names.flatMap((name) => {
    const share = shares[name] ?? 0
    const count = counts.get(name) ?? 0
    // A correct proxy leaves five standard deviations less than once in a million runs.
    const band = 5 * Math.sqrt(answers.length * share * (1 - share))
    return Math.abs(count - share * answers.length) <= band
      ? []
      : [
          `${name} answered ${count} of ${answers.length} requests instead of ${share * answers.length} ± ${Math.round(band)}`,
        ]
  })
}

function lineFaults(
  { received, closed }: { readonly received?: string; readonly closed?: boolean },
  answer: CallAnswer,
): readonly string[] {
  const why = answer.error === undefined ? '' : ` (${answer.error})`
  return [
    ...(received === undefined || answer.received === received
      ? []
      : [`received ${JSON.stringify(answer.received)}${why} instead of ${JSON.stringify(received)}`]),
    ...(closed === undefined || closed === (answer.closed === true)
      ? []
      : [`the connection is ${answer.closed === true ? `closed${why}` : 'open'}`]),
  ]
}

function countBy(answers: readonly CallAnswer[], key: (answer: CallAnswer) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const answer of answers) counts.set(key(answer), (counts.get(key(answer)) ?? 0) + 1)
  return counts
}
