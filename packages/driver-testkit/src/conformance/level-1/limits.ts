import type { LocalMode } from '../../scenarios/format.js'
import type { Need } from '../check.js'

/** More than all that one check waits for may take together, in milliseconds: each wait has its own bound and says what it was for. */
export const TIME_LIMIT_MS = 300_000

/** What a driver needs so that its proxy can be tried on one machine. */
export function needsOfLevel1(mode: LocalMode): readonly Need[] {
  return ['standalone', `mode:${mode}`]
}
