import {
  formatObjectRef,
  type CatalogErrorCode,
  type Problem,
  type ProxyStatus,
  type RefusedPeerStatus,
  type StatusCondition,
} from '@osm-ts/core'

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

/** Characters of a version that are enough to distinguish two. */
export const shortVersionLength = 8

/** How each state stands out. */
export const stateEmphasis: Readonly<Record<ProxyStatus['state'], Emphasis>> = {
  applied: 'good',
  rejected: 'bad',
  unknown: 'warn',
  stale: 'warn',
}

/** The table of `osm proxy status`, and below it what is wrong: what proxies refused and where that came from, and who was refused. */
export function renderStatus(
  statuses: readonly ProxyStatus[],
  refused: readonly RefusedPeerStatus[],
  halfEnrolled: readonly Problem[],
  { now, color }: { now: number; color: boolean },
): readonly string[] {
  // Most meshes have one source of certificates.
  const bySource = statuses.some(({ serviceCredential }) => serviceCredential !== undefined)
  const sorted = [...statuses].sort((a, b) => (a.name < b.name ? -1 : 1))
  const rows = sorted.map((status) => [
    span(status.name),
    span(status.identity),
    span(status.class),
    ...(bySource ? [span(status.serviceCredential ?? 'mesh')] : []),
    span(status.state, stateEmphasis[status.state]),
    span(status.appliedVersion?.slice(0, shortVersionLength) ?? '-'),
    span(status.lastReport === undefined ? '-' : formatAge(now - Date.parse(status.lastReport))),
  ])
  return [
    ...renderTable(bySource ? columns.toSpliced(3, 0, { title: 'CERTIFICATE' }) : columns, rows, { color }),
    ...sorted.flatMap((status) => [
      ...renderRefusals(status, color),
      ...status.conditions.flatMap((condition) =>
        renderCondition(`CONDITION of ${status.name}`, condition, now, color),
      ),
    ]),
    ...refused.flatMap((peer) => renderCondition(`REFUSED ${peer.address}`, peer, now, color)),
    ...renderHalfEnrolled(halfEnrolled, color),
  ]
}

/** Problems of services with endpoints that have no sidecar. */
export function halfEnrolledServices(problems: readonly Problem[]): readonly Problem[] {
  return problems.filter(({ code }) => code === ('OSM_POLICY_WITHOUT_SIDECAR' satisfies CatalogErrorCode))
}

/** Which endpoints have no sidecar, and what becomes of their traffic. */
function renderHalfEnrolled(services: readonly Problem[], color: boolean): readonly string[] {
  return services.flatMap(({ object, message }) => [
    '',
    renderSpans(
      [span('WITHOUT SIDECAR', 'warn'), span(`: ${object === undefined ? '' : formatObjectRef(object)}`)],
      color,
    ),
    `  ${message}`,
  ])
}

function renderCondition(
  title: string,
  { code, message, since, last = since, times }: StatusCondition,
  now: number,
  color: boolean,
): readonly string[] {
  const when =
    times === undefined
      ? `for ${formatAge(now - Date.parse(since))}`
      : `${times} ${times === 1 ? 'time' : 'times'}, last ${formatAge(now - Date.parse(last))} ago`
  return ['', renderSpans([span(title, 'bad'), span(`: ${code}, ${when}`)], color), `  ${message}`]
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
        [`: inbound ${id} denies all callers, because the proxy rejected a change that removes access`],
      ),
    ]),
  ]
}

/** True if every proxy has what it should have. */
export function allInOrder(statuses: readonly ProxyStatus[]): boolean {
  return statuses.every(
    ({ state, rejected, denied, conditions }) =>
      state === 'applied' && [...rejected, ...denied, ...conditions].length === 0,
  )
}
