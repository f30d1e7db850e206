import { formatObjectRef } from '@osm-ts/core'

import { renderSpans, span } from '../output/style.js'
import type { BoundaryAnswer, WayAnswer } from './ask-oracle.js'
import { formatPlace } from './short-places.js'

/** The answer to `osm policy can` about traffic over the edge of the mesh, for people. */
export function renderBoundary(
  { allowed, reason, ways }: BoundaryAnswer,
  { cwd, color }: { readonly cwd: string; readonly color: boolean },
): readonly string[] {
  const summary = ways.length === 0 ? `  ${reason}` : ''
  const head = renderSpans([span(allowed ? 'ALLOWED' : 'DENIED', allowed ? 'good' : 'bad'), span(summary)], color)
  // Ways that were tried before the one that leads there are of no interest.
  const shown = allowed ? ways.filter((way) => way.allowed) : ways
  return [head, ...shown.flatMap((way) => wayLines(way, cwd, color))]
}

function wayLines({ way, allowed, reasons, rules }: WayAnswer, cwd: string, color: boolean): readonly string[] {
  const places = rules.map(({ object, field, origin }) => {
    const place = origin === undefined ? '' : `  ${formatPlace(origin, cwd)}`
    return `${formatObjectRef(object)} ${field}${place}`
  })
  return [
    renderSpans([span(allowed ? '  ✓ ' : '  ✗ ', allowed ? 'good' : 'bad'), span(way)], color),
    ...(places.length > 0 ? places : reasons).map((line) => renderSpans([span(`      ${line}`)], color)),
  ]
}
