import { type Problem, problemChanges, type ProcessLogger } from '@osm-ts/core'

import type { ProblemWatch } from './problem-watch.js'

/** Problems that are logged one by one at one time. */
const MAX_LOGGED = 50

/**
 * Logs each problem in full when it appears, and counts those that were mended. A problem that stands is not logged again. Of many at one time the first are logged, the others counted.
 *
 * @returns ends it
 */
export function logProblems(watch: Pick<ProblemWatch, 'current' | 'subscribe'>, logger: ProcessLogger): () => void {
  let current: ReadonlySet<string> = new Set()
  return watch.subscribe(() => {
    current = report(watch.current() ?? [], current, logger)
  })
}

function report(found: readonly Problem[], before: ReadonlySet<string>, logger: ProcessLogger): ReadonlySet<string> {
  // Those of the MeshConfig are logged where it is followed.
  const others = found.filter(({ object }) => object?.kind !== 'MeshConfig')
  const { current, came, went } = problemChanges(others, before)
  for (const [text, { code, severity }] of came.slice(0, MAX_LOGGED))
    logger.warn({ code, severity, problem: text }, 'the mesh specification has a problem')
  if (came.length > MAX_LOGGED)
    logger.warn({ problems: came.length - MAX_LOGGED }, 'the mesh specification has more problems than are logged')
  if (went.length > 0) logger.info({ problems: went.length }, 'problems of the mesh specification were mended')
  return current
}
