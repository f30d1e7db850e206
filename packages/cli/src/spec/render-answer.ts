import type { ObjectOrigin } from '@osm-ts/core'

import { type Emphasis, renderSpans, span } from '../output/style.js'
import { formatPlace } from './short-places.js'

/** How an answer is shown. */
export interface AnswerStyle {
  /** Files are named from here. */
  readonly cwd: string
  readonly color: boolean
}

/** One of the things that an answer is about. */
interface AnsweredPart {
  readonly what: string
  readonly allowed: boolean
  /** One line each. */
  readonly why: readonly string[]
}

/** The answer to a question of access, for people: the verdict, and below it what it comes from. */
export function renderAnswer(
  {
    allowed,
    summary,
    parts,
  }: { readonly allowed: boolean; readonly summary: string; readonly parts: readonly AnsweredPart[] },
  color: boolean,
): readonly string[] {
  const head = [span(allowed ? 'ALLOWED' : 'DENIED', emphasisOf(allowed)), span(summary === '' ? '' : `  ${summary}`)]
  return [renderSpans(head, color), ...parts.flatMap((part) => partLines(part, color))]
}

function partLines({ what, allowed, why }: AnsweredPart, color: boolean): readonly string[] {
  return [
    renderSpans([span(allowed ? '  ✓ ' : '  ✗ ', emphasisOf(allowed)), span(what)], color),
    ...why.map((line) => renderSpans([span(`      ${line}`)], color)),
  ]
}

/** What decides, and where it is written down if anybody knows. */
export function withPlace(text: string, origin: ObjectOrigin | undefined, cwd: string): string {
  return origin === undefined ? text : `${text}  ${formatPlace(origin, cwd)}`
}

function emphasisOf(allowed: boolean): Emphasis {
  return allowed ? 'good' : 'bad'
}
