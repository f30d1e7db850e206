import { joinProblems, type ObjectRef, type Problem, type SpecErrorCode } from '@osm-ts/core'
import { ownValue } from '@osm-ts/driver-api/toolkit'

import { renderSpans, span } from '../output/style.js'
import { renderProblems } from '../spec/render-problems.js'

/** Objects with this annotation keep findings of these codes to themselves: a list with commas, `*` at the end of a code for all that begin so. */
const SUPPRESS_ANNOTATION = 'openservicemesh.io/suppress-findings'

/** What an analysis has found. */
export interface Findings {
  /** Sorted by place. */
  readonly findings: readonly Problem[]
  /** Those that an annotation or option suppresses. */
  readonly suppressed: readonly Problem[]
  /** Number of objects that belong to other programs, such as Deployments. */
  readonly foreignObjects: number
}

/** What limits an analysis. */
export interface FindingFilter {
  /** Codes, `*` at the end for all that begin so; suppressed everywhere. */
  readonly suppress: readonly string[]
  /** Only findings about objects of this namespace, and those about no object. */
  readonly namespace?: string | undefined
}

/** Gives the annotations of an object; none for one that is not known. */
export type AnnotationsOf = (object: ObjectRef) => Readonly<Record<string, string>>

/** Sorts what was found, and takes out what users do not want to hear of. */
export function collectFindings(
  problems: readonly (readonly Problem[])[],
  annotationsOf: AnnotationsOf,
  { suppress, namespace }: FindingFilter,
): Findings {
  const all = joinProblems(problems).filter(
    ({ object }) =>
      namespace === undefined || object === undefined || object.namespace === '' || object.namespace === namespace,
  )
  const isForeign = ({ code, severity }: Problem): boolean =>
    code === ('OSM_SPEC_KIND' satisfies SpecErrorCode) && severity === 'warning'
  const ours = all.filter((problem) => !isForeign(problem))
  const isSuppressed = (problem: Problem): boolean =>
    [...suppress, ...annotatedCodes(problem, annotationsOf)].some((pattern) => matchesCode(pattern, problem.code))
  return {
    findings: ours.filter((problem) => !isSuppressed(problem)),
    suppressed: ours.filter(isSuppressed),
    foreignObjects: all.length - ours.length,
  }
}

function annotatedCodes({ object }: Problem, annotationsOf: AnnotationsOf): readonly string[] {
  if (object === undefined) return []
  const annotations = annotationsOf(object)
  return (ownValue(annotations, SUPPRESS_ANNOTATION) ?? '')
    .split(',')
    .map((code) => code.trim())
    .filter((code) => code !== '')
}

function matchesCode(pattern: string, code: string): boolean {
  return pattern.endsWith('*') ? code.startsWith(pattern.slice(0, -1)) : code === pattern
}

/** The findings and their count, and what was left out. */
export function renderFindings({ findings, suppressed, foreignObjects }: Findings, color: boolean): readonly string[] {
  const note = (text: string): string => renderSpans([span(text, 'dim')], color)
  return [
    ...renderProblems(findings, color),
    ...(suppressed.length === 0 ? [] : [note(`${suppressed.length} suppressed; -o json lists them`)]),
    ...(foreignObjects === 0 ? [] : [note(`${foreignObjects} objects of other programs were not analyzed`)]),
  ]
}
