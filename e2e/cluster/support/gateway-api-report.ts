import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { root } from '../../../tools/lib/paths.mjs'

const kept = join(root, 'docs/conformance/gateway-api')

interface Level {
  readonly failedTests?: readonly string[]
}

/** A report of the suite, as far as it is compared. */
interface SuiteReport {
  readonly gatewayAPIVersion: string
  readonly gatewayAPIChannel: string
  readonly mode: string
  readonly profiles: readonly { readonly name: string; readonly core?: Level; readonly extended?: Level }[]
  readonly succeededProvisionalTests?: readonly string[]
}

/** What two runs with the same programs agree in: everything but the time and the version of the mesh. Profiles come in any order. */
export function findingsOf(text: string): SuiteReport & { readonly failed: readonly string[] } {
  const { gatewayAPIVersion, gatewayAPIChannel, mode, profiles, ...rest } = parse(text) as SuiteReport
  return {
    gatewayAPIVersion,
    gatewayAPIChannel,
    mode,
    profiles: [...profiles].sort((a, b) => a.name.localeCompare(b.name)),
    succeededProvisionalTests: rest.succeededProvisionalTests ?? [],
    failed: profiles
      .flatMap(({ core, extended }) => [...(core?.failedTests ?? []), ...(extended?.failedTests ?? [])])
      .sort(),
  }
}

/** The report that is kept of a sidecar class. UPDATE_GOLDEN=1 keeps this one. */
export function keptReport(sidecarClass: string, found: string): string {
  const path = join(kept, `osm-ts-${sidecarClass}.yaml`)
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(path, found)
  return readFileSync(path, 'utf8')
}

/** Names of the tests of the suite that failed, by the log of a run; sorted. */
export function failedTests(log: string): readonly string[] {
  return [...log.matchAll(/^ {4}--- FAIL: Conformance\/(\w+) /gm)].map(([, name = '']) => name).sort()
}
