import type { Problem } from '@osm-ts/core'

import { renderSpans, span, type Emphasis, type Span } from '../output/style.js'
import { renderTable, renderTitle } from '../output/table.js'
import { renderProblems } from '../spec/render-problems.js'
import { isWithoutEffect, type BlastRadius } from './blast-radius.js'

/** Longest list of proxies that is written out. */
const SHOWN_PROXIES = 10
/** Longest table. In permissive mode, a new service adds a route of every caller. */
const SHOWN_ROWS = 1_000

/** What a change does, for people: who gains and loses what, where calls go, and which proxies it reaches. */
export function renderBlastRadius(radius: BlastRadius, color: boolean): readonly string[] {
  if (isWithoutEffect(radius)) return ['The change has no effect.']
  return [
    ...accessLines(radius, color),
    ...routeLines(radius, color),
    ...findingLines('NEW FINDINGS', radius.findings.new, color),
    ...findingLines('RESOLVED FINDINGS', radius.findings.resolved, color),
    ...proxyLines(radius, color),
  ]
}

function accessLines({ access: { gained, lost } }: BlastRadius, color: boolean): readonly string[] {
  if (gained.length + lost.length === 0) return []
  const rows = [...lost.map((access) => ['-', access] as const), ...gained.map((access) => ['+', access] as const)].map(
    ([sign, { caller, destination, request }]) => {
      const emphasis: Emphasis = sign === '+' ? 'good' : 'bad'
      return [
        span(sign, emphasis),
        span(caller),
        span(destination),
        span(request),
        span(sign === '+' ? 'allowed' : 'denied', emphasis),
      ]
    },
  )
  return [renderTitle('ACCESS', 'who may call what', color), ...table([...head, 'NOW'], rows, color)]
}

function routeLines({ routes }: BlastRadius, color: boolean): readonly string[] {
  if (routes.length === 0) return []
  const rows = routes.map(({ caller, destination, request, before, after }) => [
    span(
      before === undefined ? '+' : after === undefined ? '-' : '~',
      before === undefined ? 'good' : after === undefined ? 'bad' : 'warn',
    ),
    span(caller),
    span(destination),
    span(request),
    span(before ?? '–'),
    span(after ?? '–'),
  ])
  return [renderTitle('ROUTES', 'where calls go', color), ...table([...head, 'BEFORE', 'AFTER'], rows, color)]
}

/** Titles of the first columns of tables. */
const head = ['', 'CALLER', 'DESTINATION', 'REQUEST'] as const

function table(titles: readonly string[], rows: readonly (readonly Span[])[], color: boolean): readonly string[] {
  const columns = titles.map((title) => ({ title }))
  const lines = renderTable(columns, rows.slice(0, SHOWN_ROWS), { color, indent: 2 })
  return [...lines, ...moreLine(rows.length - SHOWN_ROWS), '']
}

function moreLine(count: number): readonly string[] {
  return count > 0 ? [`  and ${count} more; -o json lists all`] : []
}

function findingLines(title: string, problems: readonly Problem[], color: boolean): readonly string[] {
  if (problems.length === 0) return []
  return [renderTitle(title, '', color), ...renderProblems(problems, color).map((line) => `  ${line}`), '']
}

function proxyLines({ proxies: { total, changed } }: BlastRadius, color: boolean): readonly string[] {
  const shown = changed.slice(0, SHOWN_PROXIES).map((proxy) => renderSpans([span(`  ${proxy}`)], color))
  return [
    renderTitle('PROXIES', `${changed.length} of ${total} get another configuration`, color),
    ...shown,
    ...moreLine(changed.length - shown.length),
  ]
}
