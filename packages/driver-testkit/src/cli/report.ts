import type { Capabilities, ContractRange } from '@osm-ts/driver-api'
import { describeContracts, hostContracts, isContractRange } from '@osm-ts/driver-api/host'
import { stringify } from 'yaml'

import type { CheckResult } from '../conformance/check.js'
import type { LocalMode } from '../scenarios/format.js'
import type { LoadedDriver } from './load-driver.js'

/** Name and version of a package. */
interface PackageVersion {
  readonly name: string
  readonly version: string
}

/** What level 1 was run with: the version of `osm`, and what the proxy says that it is. Empty where that was not to be had. */
interface Programs {
  /** How connections got into sidecars. */
  readonly mode: LocalMode
  readonly osm: string
  readonly proxy: string
}

/** What level 2 was run in. Images are without their registries; empty what was not to be had. */
export interface ClusterFacts {
  /** Version. */
  readonly kubernetes: string
  /** Image. */
  readonly controller: string
  /** Image. */
  readonly sidecar: string
  /** That pods have requested. */
  readonly sidecarClass: string
}

/** What a run has shown, fit to publish: it names no machine and no path. */
export interface Report {
  /** The highest that was tried; 0 was as well, and 1 where the environment names a proxy. */
  readonly level: 0 | 1 | 2
  /** RFC 3339. */
  readonly date: string
  readonly kit: PackageVersion & { readonly contract: ContractRange }
  readonly driver: PackageVersion & { readonly sidecarClass: string; readonly contract: ContractRange }
  readonly environment: { readonly node: string; readonly platform: string } & Partial<Programs> & Partial<ClusterFacts>
  readonly summary: { readonly passed: number; readonly failed: number; readonly notClaimed: number }
  /** Command lines. */
  readonly reproduce: readonly string[]
  readonly capabilities: Capabilities
  readonly results: readonly CheckResult[]
}

/** What a report is made of. */
export interface ReportFacts {
  readonly kit: PackageVersion
  readonly loaded: LoadedDriver
  readonly results: readonly CheckResult[]
  readonly date: Date
  readonly node: string
  readonly platform: string
  /** Of level 1, if it was run. */
  readonly programs?: Programs
  /** Of level 2, if it was run. */
  readonly cluster?: ClusterFacts
}

export function makeReport({ kit, loaded, results, date, node, platform, programs, cluster }: ReportFacts): Report {
  const count = (outcome: CheckResult['outcome']) => results.filter((result) => result.outcome === outcome).length
  const { driver, package: of } = loaded
  return {
    level: cluster !== undefined ? 2 : programs !== undefined ? 1 : 0,
    date: date.toISOString(),
    kit: { ...kit, contract: hostContracts },
    driver: { ...of, sidecarClass: driver.name, contract: driver.contract },
    environment: { node, platform, ...programs, ...cluster },
    summary: { passed: count('passed'), failed: count('failed'), notClaimed: count('not claimed') },
    reproduce: commandsOf({ kit, loaded, programs, cluster }),
    capabilities: driver.capabilities,
    results,
  }
}

/** What somebody else has to run to see the same. */
function commandsOf({
  kit,
  loaded,
  programs,
  cluster,
}: Pick<ReportFacts, 'kit' | 'loaded'> & {
  readonly programs: Programs | undefined
  readonly cluster: ClusterFacts | undefined
}): readonly string[] {
  const { driver, package: of } = loaded
  const packages = [`${of.name}@${of.version}`, `${kit.name}@${kit.version}`]
  if (programs !== undefined) packages.push(`@osm-ts/cli@${programs.osm}`)
  const program = ['npx driver-testkit', '--driver', of.name]
  if (cluster !== undefined) {
    program.push('--level 2 --kubeconfig <file>')
    if (cluster.sidecarClass !== driver.name) program.push(`--sidecar-class ${cluster.sidecarClass}`)
  } else if (programs !== undefined) program.push('--level 1')
  if (programs?.mode === 'transparent') program.push('--mode transparent')
  if (programs !== undefined) program.push('--proxy <executable>')
  return [`npm install ${packages.join(' ')}`, program.join(' ')]
}

/** For people at a terminal. */
export function asTable({ level, kit, driver, summary, results }: Report): string {
  const width = Math.max(...results.map(({ id }) => id.length))
  const lines = results.map((result) => {
    const head = `${words[result.outcome]}  ${result.id.padEnd(width)}  ${result.proves}`
    return result.outcome === 'failed' ? `${head}\n${' '.repeat(9)}${result.reason}` : head
  })
  const { passed, failed, notClaimed } = summary
  const title = `${driver.name} ${driver.version}, class ${driver.sidecarClass}, level ${level} of ${kit.name} ${kit.version}`
  return `${title}\n\n${lines.join('\n')}\n\n${passed} passed, ${failed} failed, ${notClaimed} not claimed\n`
}

/** While it continues. */
export function asLine({ id, milliseconds, ...result }: CheckResult): string {
  const line = `${words[result.outcome]}  ${id} (${(milliseconds / 1000).toFixed(1)} s)`
  return `${result.outcome === 'failed' ? `${line}\n         ${result.reason}` : line}\n`
}

const words: Readonly<Record<CheckResult['outcome'], string>> = {
  passed: 'ok     ',
  failed: 'FAILED ',
  'not claimed': '-      ',
}

export function asYaml(report: Report): string {
  return stringify(report)
}

/** One file that needs no other. */
export function asHtml(report: Report): string {
  const { kit, driver, environment, summary, results, capabilities, reproduce, date } = report
  const rows = results.map((result) => {
    const reason = result.outcome === 'failed' ? `<br><em>${escaped(result.reason)}</em>` : ''
    const style = result.outcome.replace(' ', '-')
    return `<tr class="${style}"><td>${result.outcome}</td><td><code>${escaped(result.id)}</code></td><td>${escaped(result.proves)}${reason}</td></tr>`
  })
  const declared = Object.entries(capabilities).map(
    ([name, value]) => `<tr><td>${escaped(name)}</td><td>${escaped([value].flat().join(', '))}</td></tr>`,
  )
  const title = escaped(`Conformance of ${driver.name} ${driver.version}`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
td { border-top: 1px solid #ccc; padding: .3rem .6rem; vertical-align: top }
.passed td:first-child { color: #176c2f } .failed td:first-child { color: #b00020; font-weight: bold } .not-claimed { color: #666 }
pre { background: #f4f4f4; padding: .6rem; overflow: auto }
</style>
</head>
<body>
<h1>${title}</h1>
<p>Level ${report.level}, class <b>${escaped(driver.sidecarClass)}</b>, contract ${escaped(contractOf(driver.contract))}, ${escaped(date)}.
${summary.passed} passed, ${summary.failed} failed, ${summary.notClaimed} not claimed.</p>
<table>
${rows.join('\n')}
</table>
<h2>Declared capabilities</h2>
<table>
${declared.join('\n')}
</table>
<h2>How to reproduce</h2>
<pre>${escaped(reproduce.join('\n'))}</pre>
<p>Made by ${escaped(`${kit.name} ${kit.version}`)} (contract ${describeContracts(kit.contract)}) on Node ${escaped(environment.node)}, ${escaped(environment.platform)}${escaped(othersOf(environment))}.</p>
</body>
</html>
`
}

/** What else a report was made with. */
function othersOf({ mode, osm, proxy, kubernetes, controller, sidecar }: Report['environment']): string {
  const named = Object.entries({ mode, osm, proxy, Kubernetes: kubernetes, controller, sidecar })
  return named.flatMap(([name, value]) => (value === undefined || value === '' ? [] : `, ${name} ${value}`)).join('')
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** A driver that fails contract.version may declare anything. */
function contractOf(declared: unknown): string {
  return isContractRange(declared) ? describeContracts(declared) : JSON.stringify(declared)
}
