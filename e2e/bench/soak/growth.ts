import { round } from '../statistics.js'

/** What was in use in the last cycles before one of two moments. */
export interface Samples {
  /** KiB after a forced collection. */
  readonly kibibytes: readonly number[]
  readonly descriptors: readonly number[]
}

/** What grew from cycle N to cycle 2N. */
export interface Growth {
  /** KiB, means of the samples of each moment. */
  readonly atN: number
  readonly at2N: number
  /** KiB that each cycle has left, with the interval in which the true figure lies in 95 of 100 runs. */
  readonly perCycle: { readonly mean: number; readonly low: number; readonly high: number }
  /** KiB that a cycle may leave. */
  readonly allowedPerCycle: number
  readonly descriptors: { readonly atN: number; readonly at2N: number }
  /** False: each cycle leaves more than the limit, with statistical significance; or descriptors were left. */
  readonly passed: boolean
}

/** Descriptors that may be open at 2N beyond those at N: a watch that was just renewed has two. */
const ALLOWED_DESCRIPTORS = 2
/** Two-sided 95 % of Student's t by degrees of freedom; that of the next lower one is used. */
const STUDENT: readonly (readonly [freedom: number, t: number])[] = [
  [30, 2.04],
  [20, 2.09],
  [14, 2.14],
  [10, 2.23],
  [8, 2.31],
  [6, 2.45],
  [5, 2.57],
  [4, 2.78],
  [3, 3.18],
  [2, 4.3],
  [1, 12.71],
]

/**
 * Compares two moments that are `cycles` apart, by Welch's test: the heap after a collection varies by itself, so a difference counts only as far as that does not explain it.
 *
 * @param allowedPerCycle - KiB
 * @throws RangeError with fewer than two samples of a moment
 */
export function growthOf(first: Samples, second: Samples, cycles: number, allowedPerCycle: number): Growth {
  const [a, b] = [momentsOf(first.kibibytes), momentsOf(second.kibibytes)]
  const halfWidth = a.error + b.error === 0 ? 0 : studentOf(freedomOf(a, b)) * Math.sqrt(a.error + b.error)
  const perCycle = (value: number): number => round(value / cycles)
  const difference = b.mean - a.mean
  const low = perCycle(difference - halfWidth)
  // Connections that are about to end are none that were left.
  const descriptors = { atN: Math.min(...first.descriptors), at2N: Math.min(...second.descriptors) }
  return {
    atN: round(a.mean),
    at2N: round(b.mean),
    perCycle: { mean: perCycle(difference), low, high: perCycle(difference + halfWidth) },
    allowedPerCycle,
    descriptors,
    passed: low <= allowedPerCycle && descriptors.at2N - descriptors.atN <= ALLOWED_DESCRIPTORS,
  }
}

interface Moments {
  readonly mean: number
  /** Square of the standard error of the mean. */
  readonly error: number
  readonly count: number
}

function momentsOf(values: readonly number[]): Moments {
  const count = values.length
  if (count < 2) throw new RangeError('two samples at least say how much samples vary')
  const mean = values.reduce((sum, value) => sum + value, 0) / count
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1)
  return { mean, error: variance / count, count }
}

/** By Welch and Satterthwaite. */
function freedomOf(a: Moments, b: Moments): number {
  return (a.error + b.error) ** 2 / (a.error ** 2 / (a.count - 1) + b.error ** 2 / (b.count - 1))
}

function studentOf(freedom: number): number {
  return STUDENT.find(([least]) => freedom >= least)?.[1] ?? Number.POSITIVE_INFINITY
}
