import type { DebugRequest, DebugResponse } from '@osm-ts/driver-api'
import type { ChangeReport, StageTimes } from '@osm-ts/core'

import { jsonPage } from './debug-server.js'

/** Widths of the columns of the table; what a change is caused by comes behind them. */
const columns = [
  ['CHANGE', 7],
  ['TIME', 24],
  ['DEBOUNCE', 9],
  ['RECOMPUTE', 10],
  ['PARTS', 6],
  ['PROXIES', 8],
  ['QUEUE', 9],
  ['DRIVER', 9],
  ['TRANSLATE', 10],
  ['ENCODE', 9],
  ['SEND', 9],
  ['BYTES', 10],
  ['FIRST', 9],
  ['MEDIAN', 9],
  ['LAST', 9],
  ['REJECTED', 9],
  ['LEFT', 6],
  ['PENDING', 8],
] as const

/** The last changes and what became of them, the newest first: JSON, or a table with `?format=text`. */
export function pushesPage(changes: readonly ChangeReport[], { query }: DebugRequest): DebugResponse {
  const format = query.format ?? 'json'
  if (format === 'json') return jsonPage({ changes })
  if (format !== 'text')
    return jsonPage({ error: `format: must be json or text, not ${JSON.stringify(format.slice(0, 64))}` }, 400)
  return { status: 200, contentType: 'text/plain; charset=utf-8', body: table(changes) }
}

function table(changes: readonly ChangeReport[]): string {
  const head = `${columns.map(([name, width]) => name.padEnd(width)).join(' ')} CAUSE`
  return [
    'Times are milliseconds: FIRST, MEDIAN and LAST from the first event to acknowledgements, stages the longest of a proxy.',
    head,
    ...changes.map(row),
    '',
  ].join('\n')
}

function row(change: ChangeReport): string {
  const { proxies, ack } = change
  const cells = [
    change.change,
    change.time,
    ms(change.debounceMs),
    ms(change.recomputeMs),
    change.parts,
    `${proxies.touched}/${change.changed}`,
    ...[change.queue, change.driverQueue, change.translate, change.encode, change.send].map(longest),
    change.bytes,
    ...[ack.firstMs, ack.medianMs, ack.lastMs].map((time) => (time === null ? '-' : ms(time))),
    proxies.rejected,
    proxies.left,
    proxies.pending,
  ]
  return `${cells.map((cell, at) => String(cell).padEnd(columns[at]?.[1] ?? 0)).join(' ')} ${causeOf(change)}`
}

function causeOf({ cause, unnamed }: ChangeReport): string {
  const names = [...cause.objects, ...cause.endpoints.map((name) => `endpoints of ${name}`), ...cause.others]
  return [...names, ...(unnamed === 0 ? [] : [`${unnamed} more`])].join(', ')
}

function longest({ maxMs }: StageTimes): string {
  return ms(maxMs)
}

function ms(value: number): string {
  return value.toFixed(1)
}
