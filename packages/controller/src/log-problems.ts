import { type Clock, inTurns, pause, type Problem, problemChanges, type ProcessLogger, type Steps } from '@osm-ts/core'

/** What {@link logProblems} reads, and where it writes. */
export interface LogProblemsOptions {
  /** Finds everything that is wrong with what users wrote. */
  readonly problems: () => Steps<readonly Problem[]>
  /** Calls the listener when problems may be others than before. The result ends it. */
  readonly subscribe: (listener: () => void) => () => void
  readonly clock: Clock
  readonly logger: ProcessLogger
  readonly signal: AbortSignal
}

/** How often it is looked whether anything is new, in milliseconds. */
const LOOK_MS = 1_000
/** How many times longer than the work of a look the pause after it is. */
const REST = 20
/** Problems that are logged one by one at one time. */
const MAX_LOGGED = 50

/**
 * Logs each problem in full when it appears, and counts those that were mended, until the signal aborts. A problem that stands is not logged again. Of many at one time the first are logged, the
 * others counted.
 */
export async function logProblems({ problems, subscribe, clock, logger, signal }: LogProblemsOptions): Promise<void> {
  let stale = true
  const end = subscribe(() => {
    stale = true
  })
  let standing: ReadonlySet<string> = new Set()
  try {
    while (!signal.aborted) {
      let workedMs = 0
      if (stale) {
        stale = false
        const found = await inTurns(problems(), signal, { onTurn: (milliseconds) => (workedMs += milliseconds) })
        if (found === undefined) return
        standing = report(found, standing, logger)
      }
      await pause(clock, Math.max(LOOK_MS, workedMs * REST), signal)
    }
  } finally {
    end()
  }
}

function report(found: readonly Problem[], before: ReadonlySet<string>, logger: ProcessLogger): ReadonlySet<string> {
  // Those of the MeshConfig are logged where it is followed.
  const others = found.filter(({ object }) => object?.kind !== 'MeshConfig')
  const { standing, came, went } = problemChanges(others, before)
  for (const [text, { code, severity }] of came.slice(0, MAX_LOGGED))
    logger.warn({ code, severity, problem: text }, 'the mesh specification has a problem')
  if (came.length > MAX_LOGGED)
    logger.warn({ problems: came.length - MAX_LOGGED }, 'the mesh specification has more problems than are logged')
  if (went.length > 0) logger.info({ problems: went.length }, 'problems of the mesh specification were mended')
  return standing
}
