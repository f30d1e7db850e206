import { formatPercent } from '../output/format.js'
import type { ObservedSplit } from '../live/split-log.js'

/** Fewer answers than these can't tell 75 from 50 percent. */
const minSample = 60

/** Standard deviations that a sample may lie away: chance alone leaves it once in 15,000 runs. */
const deviations = 4

/**
 * How far the observed share of a sample may be from the wanted one. Each request is sent somewhere by an independent draw, so that counts follow
 * the binomial distribution; the last term is for counts being whole.
 */
export function binomialTolerance(share: number, sample: number): number {
  if (sample === 0) return 1
  const spread = Math.sqrt((share * (1 - share)) / sample)
  // A share of 0 or 1 leaves nothing to chance, and no fraction of a request either.
  return spread === 0 ? 0 : deviations * spread + 1 / (2 * sample)
}

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
