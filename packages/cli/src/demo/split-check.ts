import { formatPercent } from '../output/format.js'
import type { ObservedSplit } from '../live/split-log.js'
import { binomialTolerance, deviations } from './binomial.js'

/** Fewer answers than these can't tell 75 from 50 percent. */
const minSample = 60

/** How a split compares with its weights. */
export interface SplitResult {
  readonly name: string
  readonly apex: string
  /** Answers that were counted. */
  readonly sample: number
  /** What the tolerance means. */
  readonly bound: string
  readonly backends: readonly {
    readonly service: string
    /** Shares from 0 to 1. */
    readonly wanted: number
    readonly observed: number
    readonly tolerance: number
    readonly answers: number
    readonly ok: boolean
  }[]
  readonly ok: boolean
  readonly failures: readonly string[]
}

/** Holds an observed split against the weights in the YAML. */
export function checkSplit({ name, apex, sample, backends }: ObservedSplit): SplitResult {
  const compared = backends.map(({ service, share, answers }) => {
    const observed = sample === 0 ? 0 : answers / sample
    const tolerance = binomialTolerance(share, sample)
    return { service, wanted: share, observed, tolerance, answers, ok: Math.abs(observed - share) <= tolerance }
  })
  const failures = [
    ...(sample < minSample ? [`split ${name}: ${sample} answers were seen, ${minSample} are needed`] : []),
    ...compared
      .filter(({ ok }) => !ok)
      .map(
        ({ service, wanted, observed, tolerance }) =>
          `split ${name}: ${service} got ${formatPercent(observed, 1)}, wanted ${formatPercent(wanted, 1)} ± ${formatPercent(tolerance, 1)}`,
      ),
  ]
  return {
    name,
    apex,
    sample,
    bound: `binomial, ${deviations} standard deviations`,
    backends: compared,
    ok: failures.length === 0,
    failures,
  }
}
