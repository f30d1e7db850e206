import type { HealthProbe, HealthProbes } from './health.js'
import { IssueList, type PolicyIssue } from './policy/issues.js'
import { applyReportSchema, healthProbesSchema, proxyObservationSchema } from './schema/driver.js'
import { sidecarPatchSchema } from './schema/sidecar-patch.js'
import { schemaIssues } from './schema/validate.js'

/** Returns the reasons why a value is not a valid SidecarPatch. Checks the schema only; the host checks its allow-list. */
export function validateSidecarPatch(value: unknown): readonly PolicyIssue[] {
  return schemaIssues(sidecarPatchSchema, value)
}

/** Returns the reasons why a value is not a valid ApplyReport. */
export function validateApplyReport(value: unknown): readonly PolicyIssue[] {
  return schemaIssues(applyReportSchema, value)
}

/** Returns the reasons why a value is not a valid ProxyObservation. */
export function validateProxyObservation(value: unknown): readonly PolicyIssue[] {
  return schemaIssues(proxyObservationSchema, value)
}

/** Returns the reasons why a value is not valid as HealthProbes: violations of its schema, then probes without exactly one protocol. */
export function validateHealthProbes(value: unknown): readonly PolicyIssue[] {
  const found = schemaIssues(healthProbesSchema, value)
  if (found.length > 0) return found
  const issues = new IssueList()
  // Without an issue the value conforms to its schema.
  for (const [name, probe] of Object.entries(value as HealthProbes) as [string, HealthProbe][]) {
    issues.expect(probe.http !== probe.tcpSocket, `/${name}`, 'exactly one of http and tcpSocket must be true')
    issues.expect(!probe.http || probe.path.startsWith('/'), `/${name}/path`, 'must start with / for an HTTP probe')
  }
  return issues.issues
}
