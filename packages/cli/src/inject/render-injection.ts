import type { PatchOperation } from '@osm-ts/injector'
import { stringify } from 'yaml'

import { renderSpans, span, type Emphasis } from '../output/style.js'
import type { PassedOver, PodOutcome } from './inject-objects.js'

const emphases: Readonly<Record<PodOutcome['outcome'], Emphasis>> = {
  injected: 'good',
  skipped: 'warn',
  refused: 'bad',
}
const signs = { add: ['+', 'good'], replace: ['~', 'warn'], remove: ['-', 'bad'] } as const

/** Each decision and why. */
export function renderExplanation(pod: PodOutcome, color: boolean): readonly string[] {
  const head = [span(`${pod.title}: `, 'bold'), span(pod.outcome, emphases[pod.outcome]), span(` (${pod.reason})`)]
  const detail = (text: string, emphasis: Emphasis = 'plain'): string =>
    renderSpans([span(`  ${text}`, emphasis)], color)
  return [
    renderSpans(head, color),
    detail(pod.message),
    ...pod.notes.map((note) => detail(note)),
    ...pod.warnings.map((warning) => detail(`warning: ${warning}`, 'warn')),
  ]
}

/** Why an object stays as it is. */
export function renderPassedOver({ title, likelyTemplate }: PassedOver): string {
  return likelyTemplate === undefined
    ? `${title}: skipped, it has no pod template`
    : `${title}: skipped, its pod template at ${likelyTemplate} is not at a known path; use --template-path ${likelyTemplate}`
}

/** Each change: its place, and the new value. */
export function renderDiff(pod: PodOutcome, color: boolean): readonly string[] {
  const head = renderSpans([span(pod.title, 'bold')], color)
  if (pod.operations.length === 0) return [head, renderSpans([span('  no change', 'dim')], color)]
  return [head, ...pod.operations.flatMap((operation) => renderOperation(operation, color))]
}

function renderOperation(operation: PatchOperation, color: boolean): readonly string[] {
  const [sign, emphasis] = signs[operation.op]
  const lines = operation.op === 'remove' ? [] : stringify(operation.value, { lineWidth: 0 }).trimEnd().split('\n')
  return [
    renderSpans([span(`${sign} ${operation.path}`, emphasis)], color),
    ...lines.map((line) => renderSpans([span(`    ${line}`)], color)),
  ]
}
