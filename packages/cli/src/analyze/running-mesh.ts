import type { Problem, ProxyStatus } from '@osm-ts/core'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { CertificatesReport } from '../certificates/certificates-report.js'
import type { DebugApi } from '../state/debug-api.js'
import type { AnalyzeErrorCode } from './error-codes.js'

const WARN_BEFORE_DAYS = 30
const DAY_MS = 86_400_000

/**
 * What the controller knows and its objects do not tell. One that does not answer is a finding.
 *
 * @param isChanged - true: the objects are about to change, so what it says of them as they are does not count
 */
export async function analyzeRunningMesh(
  openApi: () => Promise<Pick<DebugApi, 'problems' | 'statuses' | 'certificates'>>,
  { now, isChanged }: { readonly now: number; readonly isChanged: boolean },
): Promise<readonly Problem[]> {
  try {
    const api = await openApi()
    const [problems, statuses, certificates] = await Promise.all([api.problems(), api.statuses(), api.certificates()])
    const remaining = problems.filter(({ object }) => !isChanged || object === undefined)
    return [...remaining, ...statuses.flatMap(rejections), ...certificateFindings(certificates, now)]
  } catch (error) {
    return [
      {
        code: 'OSM_ANALYZE_CONTROLLER' satisfies AnalyzeErrorCode,
        severity: 'warning',
        message: `the controller was not asked about proxies, drivers and certificates: ${errorMessage(error)}`,
      },
    ]
  }
}

function rejections({ name, class: className, rejected }: ProxyStatus): readonly Problem[] {
  return rejected.map(({ id, message, sources: [source] }) => ({
    code: 'OSM_ANALYZE_PROXY_REJECTED' satisfies AnalyzeErrorCode,
    severity: 'error',
    message: `the ${className} sidecar of ${name} refused ${id}: ${message}`,
    ...(source !== undefined && { object: source.object, ...(source.field !== undefined && { field: source.field }) }),
  }))
}

function certificateFindings({ provider, trusted }: CertificatesReport, now: number): readonly Problem[] {
  const faults = provider.faults.map(({ code, severity, message, authority }): Problem => ({
    code,
    severity: severity === 'error' ? 'error' : 'warning',
    message: `certificate provider ${authority}: ${message}`,
  }))
  return [...faults, ...trusted.flatMap((root) => expiry(root, now))]
}

function expiry(
  { authority, subject, expires }: CertificatesReport['trusted'][number],
  now: number,
): readonly Problem[] {
  const leftMs = Date.parse(expires) - now
  if (!(leftMs < WARN_BEFORE_DAYS * DAY_MS)) return []
  const when = leftMs <= 0 ? `expired at ${expires}` : `expires at ${expires}, in ${Math.floor(leftMs / DAY_MS)} days`
  return [
    {
      code: 'OSM_ANALYZE_ROOT_EXPIRES' satisfies AnalyzeErrorCode,
      severity: leftMs <= 0 ? 'error' : 'warning',
      message: `root ${subject} of ${authority} ${when}; change to another root with osm certificate rotate`,
    },
  ]
}
