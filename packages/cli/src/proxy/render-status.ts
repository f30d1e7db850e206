import { formatObjectRef, type ProxyStatus } from '@osm-ts/core'

import { formatAge } from '../output/format.js'
import { renderSpans, span, type Emphasis } from '../output/style.js'
import { renderTable, type Column } from '../output/table.js'

const columns: readonly Column[] = [
  { title: 'NAME' },
  { title: 'IDENTITY' },
  { title: 'CLASS' },
  { title: 'STATE' },
  { title: 'VERSION' },
  { title: 'LAST ACK' },
]

/** Characters of a version that are enough to tell two apart. */
export const shortVersionLength = 8

/** How each state stands out. */
export const stateEmphasis: Readonly<Record<ProxyStatus['state'], Emphasis>> = {
  applied: 'good',
  rejected: 'bad',
  unknown: 'warn',
  stale: 'warn',
}

/** The table of `osm proxy status`, and below it what proxies refused and where that came from. */
export function renderStatus(
  statuses: readonly ProxyStatus[],
  { now, color }: { now: number; color: boolean },
): readonly string[] {
  const sorted = [...statuses].sort((a, b) => (a.name < b.name ? -1 : 1))
  const rows = sorted.map((status) => [
    span(status.name),
    span(status.identity),
    span(status.class),
    span(status.state, stateEmphasis[status.state]),
    span(status.appliedVersion?.slice(0, shortVersionLength) ?? '-'),
    span(status.lastReport === undefined ? '-' : formatAge(now - Date.parse(status.lastReport))),
  ])
  return [...renderTable(columns, rows, { color }), ...sorted.flatMap((status) => renderRefusals(status, color))]
}

function renderRefusals({ name, rejected, denied }: ProxyStatus, color: boolean): readonly string[] {
  const line = (...parts: Parameters<typeof span>[]): string =>
    renderSpans(
      parts.map((part) => span(...part)),
      color,
    )
  return [
    ...rejected.flatMap(({ kind, id, message, sources }) => [
      '',
      line([`REJECTED by ${name}`, 'bad'], [`: ${kind} ${id}`]),
      line(['  ', 'plain'], [message]),
      ...sources.map(({ object, field }) =>
        line([`  from ${formatObjectRef(object)}${field === undefined ? '' : ` ${field}`}`]),
      ),
    ]),
    ...denied.flatMap((id) => [
      '',
      line(
        [`DENIED by ${name}`, 'bad'],
        [`: inbound ${id} lets nobody in, because the proxy refused a change that removes access`],
      ),
    ]),
  ]
}

/** True if every proxy has what it should have. */
export function allInOrder(statuses: readonly ProxyStatus[]): boolean {
  return statuses.every(
    ({ state, rejected, denied }) => state === 'applied' && rejected.length === 0 && denied.length === 0,
  )
}
