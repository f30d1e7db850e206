/** Standard deviations that a sample may lie away: chance alone leaves it once in 15,000 runs. */
export const deviations = 4

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
