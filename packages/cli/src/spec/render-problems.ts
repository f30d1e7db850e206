import { formatObjectRef, type Problem } from '@osm-ts/core'

import { renderSpans, span } from '../output/style.js'

/** Problems with all that helps to find them, and their count. */
export function renderProblems(problems: readonly Problem[], color: boolean): readonly string[] {
  const count = (severity: Problem['severity']): string => {
    const found = problems.filter((problem) => problem.severity === severity).length
    return `${found} ${severity}${found === 1 ? '' : 's'}`
  }
  return [...problems.flatMap((problem) => problemLines(problem, color)), `${count('error')}, ${count('warning')}`]
}

function problemLines({ origin, severity, code, object, field, message }: Problem, color: boolean): readonly string[] {
  const place = origin?.kind === 'file' ? `${origin.file}:${origin.line}:${origin.column}: ` : ''
  const subject = [object && formatObjectRef(object), field].filter(Boolean).join(': ')
  return [
    renderSpans(
      [
        span(place, 'bold'),
        span(severity, severity === 'error' ? 'bad' : 'warn'),
        span(` ${code}`),
        span(subject === '' ? '' : `  ${subject}`),
      ],
      color,
    ),
    renderSpans([span(`  ${message}`)], color),
  ]
}
