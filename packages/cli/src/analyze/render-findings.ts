import { renderSpans, span } from '../output/style.js'
import { renderProblems } from '../spec/render-problems.js'
import type { Findings } from './findings.js'

/** The findings and their count, and what was left out. */
export function renderFindings({ findings, suppressed, foreignObjects }: Findings, color: boolean): readonly string[] {
  const note = (text: string): string => renderSpans([span(text, 'dim')], color)
  return [
    ...renderProblems(findings, color),
    ...(suppressed.length === 0 ? [] : [note(`${suppressed.length} suppressed; -o json lists them`)]),
    ...(foreignObjects === 0 ? [] : [note(`${foreignObjects} objects of other programs were not analyzed`)]),
  ]
}
