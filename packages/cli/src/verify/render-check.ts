import { renderSpans, span, type Emphasis } from '../output/style.js'
import type { Check, CheckStatus } from './check.js'

const rule = '-'.repeat(45)
const emphases: Readonly<Record<CheckStatus, Emphasis>> = { Success: 'good', Failure: 'bad', Unknown: 'warn' }

/** A check and what it is made of, as a tree whose depth is the number of plus signs. */
export function renderCheck(check: Check, color: boolean): readonly string[] {
  return [...sections(check, 1, color), rule]
}

function sections({ context, status, reason, suggestion, nested }: Check, depth: number, color: boolean): string[] {
  const line = (name: string, text: string | undefined, emphasis: Emphasis = 'plain'): readonly string[] =>
    text === undefined ? [] : [renderSpans([span(`${name}: `), span(text, emphasis)], color)]
  return [
    rule,
    ...line(`[${'+'.repeat(depth)}] Context`, context),
    ...line('Status', status, emphases[status]),
    ...line('Reason', reason),
    ...line('Suggestion', suggestion),
    ...nested.flatMap((each) => sections(each, depth + 1, color)),
  ]
}
