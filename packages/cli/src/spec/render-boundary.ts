import { formatObjectRef } from '@osm-ts/core'

import type { BoundaryAnswer } from './boundary.js'
import { type AnswerStyle, renderAnswer, withPlace } from './render-answer.js'

/** The answer to `osm policy can` about traffic over the edge of the mesh, for people. */
export function renderBoundary(
  { allowed, reason, ways }: BoundaryAnswer,
  { cwd, color }: AnswerStyle,
): readonly string[] {
  // Ways that were tried before the one that leads there are of no interest.
  const shown = allowed ? ways.filter((way) => way.allowed) : ways
  const parts = shown.map(({ way, allowed, reasons, rules }) => {
    const places = rules.map(({ object, field, origin }) =>
      withPlace(`${formatObjectRef(object)} ${field}`, origin, cwd),
    )
    return { what: way, allowed, why: places.length > 0 ? places : reasons }
  })
  return renderAnswer({ allowed, summary: ways.length === 0 ? reason : '', parts }, color)
}
