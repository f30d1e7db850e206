import type { HealthProbe, HealthProbes } from './health.js'
import { IssueList, type PolicyIssue } from './policy/issues.js'
import { applyReportSchema, healthProbesSchema, proxyObservationSchema } from './schema/driver.js'
import { sidecarPatchSchema } from './schema/sidecar-patch.js'
import { schemaIssues } from './schema/validate.js'

/** What keeps a value from being a SidecarPatch. Only its shape: what a driver may ask for is the host's allow-list. */
export function validateSidecarPatch(value: unknown): readonly PolicyIssue[] {
  return schemaIssues(sidecarPatchSchema, value)
}

/** What keeps a value from being an ApplyReport. */
export function validateApplyReport(value: unknown): readonly PolicyIssue[] {
  return schemaIssues(applyReportSchema, value)
}

/** What keeps a value from being a ProxyObservation. */
export function validateProxyObservation(value: unknown): readonly PolicyIssue[] {
  return schemaIssues(proxyObservationSchema, value)
}

/** What keeps a value from being HealthProbes: its schema, then that each probe asks in exactly one way. */
export function validateHealthProbes(value: unknown): readonly PolicyIssue[] {
  const found = schemaIssues(healthProbesSchema, value)
  if (found.length > 0) return found
  const issues = new IssueList()
  // Without an issue the value is what its schema describes.
  for (const [name, probe] of Object.entries(value as HealthProbes) as [string, HealthProbe][]) {
    issues.expect(probe.http !== probe.tcpSocket, `/${name}`, 'exactly one of http and tcpSocket must be true')
    issues.expect(!probe.http || probe.path.startsWith('/'), `/${name}/path`, 'must start with / for an HTTP probe')
  }
  return issues.issues
}
