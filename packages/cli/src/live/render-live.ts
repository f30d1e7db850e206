import { formatObjectRef, type Problem, type ProxyStatus } from '@osm-ts/core'

import { formatPercent } from '../output/format.js'
import { clip, renderSpans, span, wrap, type Span } from '../output/style.js'
import { renderTable, renderTitle, type Column } from '../output/table.js'
import { halfEnrolledServices, shortVersionLength, stateEmphasis } from '../proxy/render-status.js'
import type { LiveView, SeenCertificate } from './live-view.js'
import type { ObservedSplit } from './split-log.js'
import { isAllowed, type TrafficRow } from './traffic-log.js'

/** How the view is drawn. */
export interface RenderOptions {
  readonly columns: number
  readonly color: boolean
}

/** Wider lines are harder to read, not easier. */
const maxColumns = 100
const barLength = 30
const maxProblems = 4
const indent = 2

/** The live table: the same view and options give the same lines. */
export function renderLive(view: LiveView, options: RenderOptions): readonly string[] {
  const width = Math.min(options.columns, maxColumns)
  const { color } = options
  return [
    ...header(view, width, color),
    '',
    renderTitle('TRAFFIC', 'who reached whom', color),
    ...traffic(view.traffic, width, color),
    ...view.splits.flatMap((split) => ['', ...splitLines(split, width, color)]),
    '',
    renderTitle('PROXIES', summary(view.proxies), color),
    ...proxies(view, width, color),
    ...withoutSidecar(view.problems, width, color),
    '',
    ...problems(view.problems, width, color),
    ...notices(view.notices, width, color),
    '',
    renderSpans(
      [span(clip(`Edit the YAML in ${view.folder}, save, and watch. Ctrl-C stops everything.`, width), 'dim')],
      color,
    ),
    // Never clipped: it is there to be copied.
    ...(view.dashboardUrl === undefined ? [] : [renderSpans([span(`Dashboard: ${view.dashboardUrl}`, 'dim')], color)]),
  ]
}

function header(
  { folder, mode, controllerUrl, startedAt, now }: LiveView,
  width: number,
  color: boolean,
): readonly string[] {
  const facts = [`${mode} mode`, `up ${formatClock(now - startedAt)}`, `debug ${controllerUrl ?? 'starting'}`].join(
    '   ',
  )
  const room = Math.max(10, width - facts.length - 8)
  return [renderSpans([span('osm', 'accent'), span(`  ${clip(folder, room)}   `, 'bold'), span(facts, 'dim')], color)]
}

const trafficColumns: readonly Column[] = [
  { title: '' },
  { title: 'CLIENT', shrinkTo: 9 },
  { title: 'SERVICE', shrinkTo: 9 },
  { title: 'PATH', shrinkTo: 10 },
  { title: 'ALLOWED', align: 'right' },
  { title: 'DENIED', align: 'right' },
  { title: 'LAST', align: 'right' },
  { title: 'ANSWERED BY', shrinkTo: 11 },
  { title: 'RATE', align: 'right' },
]

function traffic(rows: readonly TrafficRow[], width: number, color: boolean): readonly string[] {
  if (rows.length === 0) return [renderSpans([span('  no requests yet', 'dim')], color)]
  return renderTable(trafficColumns, rows.map(trafficCells), { width, color, indent })
}

function trafficCells({ client, target, path, allowed, denied, last, rate }: TrafficRow): readonly Span[] {
  const passes = isAllowed(last)
  const emphasis = passes ? 'good' : 'bad'
  return [
    span(passes ? '✓' : '✗', emphasis),
    span(client),
    span(`→ ${target}`),
    span(path),
    span(String(allowed), allowed > 0 ? 'good' : 'dim'),
    span(String(denied), denied > 0 ? 'bad' : 'dim'),
    span(last.status === 0 ? '-' : String(last.status), emphasis),
    span(last.server ?? refusal(last), last.server === undefined ? 'dim' : 'plain'),
    span(`${rate.toFixed(1)}/s`, 'dim'),
  ]
}

function refusal({ status, error }: TrafficRow['last']): string {
  if (error !== undefined) return error
  return status === 0 ? 'no response' : 'a sidecar'
}

function splitLines({ name, apex, sample, backends }: ObservedSplit, width: number, color: boolean): readonly string[] {
  const columns: readonly Column[] = [
    { title: 'BACKEND', shrinkTo: 10 },
    { title: 'OBSERVED', align: 'right' },
    { title: '', shrinkTo: 5 },
    { title: 'WANTED', align: 'right' },
    { title: 'ANSWERS', align: 'right' },
  ]
  const rows = backends.map(({ service, share, answers }) => {
    const observed = sample === 0 ? 0 : answers / sample
    return [
      span(service),
      span(sample === 0 ? '-' : formatPercent(observed), 'bold'),
      span(bar(observed, share), 'accent'),
      span(formatPercent(share)),
      span(String(answers), 'dim'),
    ]
  })
  return [
    renderTitle('SPLIT', `${name} of service ${apex}; │ marks the target`, color),
    ...renderTable(columns, rows, { width, color, indent }),
  ]
}

/** A bar of the observed share, with a mark where the wanted share ends. */
function bar(observed: number, wanted: number): string {
  const full = Math.round(observed * barLength)
  const mark = Math.min(barLength - 1, Math.round(wanted * barLength))
  return Array.from({ length: barLength }, (_, at) => (at === mark ? '│' : at < full ? '█' : '░')).join('')
}

function summary(proxies: readonly ProxyStatus[]): string {
  if (proxies.length === 0) return 'none connected yet'
  const applied = proxies.filter(({ state }) => state === 'applied').length
  return `${applied} of ${proxies.length} have applied their configuration`
}

const proxyColumns: readonly Column[] = [
  { title: 'INSTANCE', shrinkTo: 12 },
  { title: 'mTLS IDENTITY', shrinkTo: 20 },
  { title: 'CLASS' },
  { title: 'STATE' },
  { title: 'VERSION' },
]

function proxies({ proxies, certificates, elsewhere }: LiveView, width: number, color: boolean): readonly string[] {
  const rows = [...proxies]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((status) => [
      span(status.name.slice(status.name.indexOf('/') + 1)),
      elsewhere.has(status.name) ? verifiedIdentityCell(status) : identityCell(certificates.get(status.name)),
      span(status.class),
      span(status.state, stateEmphasis[status.state]),
      span(status.appliedVersion?.slice(0, shortVersionLength) ?? '-'),
    ])
  return rows.length === 0 ? [] : renderTable(proxyColumns, rows, { width, color, indent })
}

/** Services of the mesh that have endpoints without a sidecar, and what becomes of their traffic. */
function withoutSidecar(list: readonly Problem[], width: number, color: boolean): readonly string[] {
  const services = halfEnrolledServices(list)
  if (services.length === 0) return []
  const hidden = services.length - maxProblems
  return [
    '',
    renderTitle(
      'WITHOUT SIDECAR',
      `endpoints of ${services.length === 1 ? 'a service' : `${services.length} services`}`,
      color,
    ),
    ...services.slice(0, maxProblems).flatMap(({ object, message }) => {
      const [first = '', ...others] = wrap(
        `${object === undefined ? '' : formatObjectRef(object)}: ${message}`,
        width - 4,
      )
      return [`  ${first}`, ...others.map((text) => `    ${text}`)].map((text) =>
        renderSpans([span(text, 'warn')], color),
      )
    }),
    ...(hidden > 0 ? [renderSpans([span(`  and ${hidden} more`, 'dim')], color)] : []),
  ]
}

/** What the certificate in use says, never what we would like it to say. */
function identityCell(certificate: SeenCertificate | undefined): Span {
  const [uri] = certificate?.uris ?? []
  return uri === undefined ? span('no certificate seen yet', 'dim') : span(uri, 'accent')
}

/** A proxy that cannot be asked from here: the control plane has verified its certificate when it connected. */
function verifiedIdentityCell({ connected, identity }: ProxyStatus): Span {
  return connected
    ? span(`${identity}, on its own machine`, 'accent')
    : span('on its own machine, not connected', 'dim')
}

function problems(list: readonly Problem[], width: number, color: boolean): readonly string[] {
  if (list.length === 0) return [renderTitle('PROBLEMS', 'none', color)]
  const hidden = list.length - maxProblems
  return [
    renderTitle('PROBLEMS', `${list.length}; osm standalone validate explains them all`, color, 'bad'),
    ...list.slice(0, maxProblems).flatMap((problem) => problemLines(problem, width, color)),
    ...(hidden > 0 ? [renderSpans([span(`  and ${hidden} more`, 'dim')], color)] : []),
  ]
}

function problemLines(
  { origin, object, field, message, severity, code }: Problem,
  width: number,
  color: boolean,
): readonly string[] {
  const place = origin?.kind === 'file' ? `${origin.file}:${origin.line}:${origin.column}` : 'no file'
  const subject = [object && formatObjectRef(object), field].filter(Boolean).join(' ')
  const line = (text: string): string => renderSpans([span(clip(text, width))], color)
  return [
    renderSpans([span(clip(`  ${place}  ${code}`, width), severity === 'error' ? 'bad' : 'warn')], color),
    ...(subject === '' ? [] : [line(`    ${subject}`)]),
    ...wrap(message, width - 4).map((text) => line(`    ${text}`)),
  ]
}

function notices(list: readonly string[], width: number, color: boolean): readonly string[] {
  return list.map((notice) => renderSpans([span(clip(`  ${notice}`, width), 'warn')], color))
}

/** `mm:ss`, or `h:mm:ss`. */
function formatClock(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  const two = (value: number): string => String(value).padStart(2, '0')
  const hours = Math.floor(seconds / 3600)
  const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
  return hours === 0 ? rest : `${hours}:${rest}`
}

/** The view as single lines, for output that is not a terminal: changes are printed, nothing is redrawn. */
export function renderLines(view: LiveView): readonly string[] {
  const time = new Date(view.now).toISOString().slice(11, 19)
  const applied = view.proxies.filter(({ state }) => state === 'applied').length
  return [
    ...view.traffic.map(
      ({ client, target, path, allowed, denied, last }) =>
        `${client} → ${target} ${path}: ${allowed} allowed, ${denied} denied, last ${last.status === 0 ? refusal(last) : last.status}${last.server === undefined ? '' : ` from ${last.server}`}`,
    ),
    ...view.splits.map(
      ({ name, sample, backends }) =>
        `split ${name}: ${backends.map(({ service, share, answers }) => `${service} ${sample === 0 ? '-' : formatPercent(answers / sample)} (wanted ${formatPercent(share)})`).join(', ')} of ${sample} answers`,
    ),
    `proxies: ${applied} of ${view.proxies.length} applied; problems: ${view.problems.length}`,
  ].map((line) => `${time} ${span(line).text}`)
}
