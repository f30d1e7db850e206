import { type Emphasis, span } from '../output/style.js'
import { renderTable } from '../output/table.js'
import type { CertificatesReport, ReportedRotation } from './certificates-report.js'

/** What one controller says. */
export interface ControllerCertificates extends CertificatesReport {
  /** Name of its pod, or the address of its debug server. */
  readonly controller: string
}

const COLUMNS = ['AUTHORITY', 'ROOT', 'SIGNS', 'CERTIFICATES', 'EXPIRES', 'FINGERPRINT']
/** Characters of a fingerprint that tell roots apart. */
const SHORT = 17

/** The tables of `osm certificate status`: the roots of each controller, and what is wrong with its provider. */
export function renderCertificates(controllers: readonly ControllerCertificates[], color: boolean): readonly string[] {
  return controllers.flatMap((each) => [
    ...(controllers.length > 1 ? [`controller ${span(each.controller).text}`] : []),
    ...renderOne(each, color),
  ])
}

/** True if every provider issues what it is asked for, and none is being replaced. */
export function areInOrder(controllers: readonly CertificatesReport[]): boolean {
  return controllers.every(({ provider }) => provider.faults.length === 0)
}

function renderOne({ provider, trusted, rotation }: CertificatesReport, color: boolean): readonly string[] {
  const rows = trusted.map(({ authority, subject, signs, source, certificates, expires, fingerprint }) => [
    span(authority),
    span(subject),
    // What a Workload API gives out is signed and counted elsewhere.
    span(source ?? (signs ? 'yes' : 'no'), signs ? 'good' : 'plain'),
    span(source === undefined ? String(certificates) : '-'),
    span(expires),
    span(fingerprint.slice(0, SHORT)),
  ])
  const faults = provider.faults.map(({ code, severity, message }) => {
    const emphasis: Emphasis = severity === 'error' ? 'bad' : 'warn'
    return span(`${severity}: ${message} [${code}]`, emphasis).text
  })
  return [
    `workload certificates by provider ${span(provider.name).text}`,
    ...renderTable(
      COLUMNS.map((title) => ({ title })),
      rows,
      { color },
    ),
    ...(rotation === undefined ? [] : [sidecarsOf(rotation)]),
    ...(faults.length === 0 ? [] : ['', ...faults]),
  ]
}

function sidecarsOf({ sidecars: { connected, missing } }: ReportedRotation): string {
  return `${connected - missing} of ${connected} connected sidecars have confirmed their configuration`
}
