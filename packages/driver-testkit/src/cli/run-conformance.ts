import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import type { JsonValue } from '@osm-ts/driver-api'

import { type Check, type CheckResult, runChecks } from '../conformance/check.js'
import { level0 } from '../conformance/level-0.js'
import { loadDriver, loadStandIn, NoDriver, ownPackage } from './load-driver.js'
import { openRealProxy, type RealProxy, type RealProxyOptions } from './real-proxy.js'
import { asHtml, asLine, asTable, asYaml, makeReport } from './report.js'

const USAGE = `driver-testkit --driver <package or folder> [options]

Runs the conformance suite on a sidecar driver. Level 0 is the contract itself, without a proxy. Level 1 adds its
real proxy as a process of this machine: scenarios of traffic and policies, and faults.

  --driver <package or folder>  what to try
  --level 0|1                   how far; 0 if absent
  --config <file>               JSON: sidecarDrivers[].config that it is tried with; {} if absent
  --stand-in <module>           what speaks for its proxies: a module that exports a StandIn as standIn; that of
                                the package's osmDriver.standIn if absent. Without any, the checks of policies are not made
  --only <id>                   a check, or the first words of several such as patch.; may be repeated
  --proxy <executable>          level 1: what runs as its sidecar; $<CLASS>_BIN if absent
  --osm <program>               level 1: what runs meshes; that of the installed @osm-ts/cli if absent
  --built-in                    level 1: that program brings the driver itself, which is tried then
  -o, --output table|json|yaml  what is printed; table if absent
  --report <folder>             also write conformance.yaml and conformance.html there
  -h, --help                    print this

Exit code: 0 if nothing failed, 1 if something did, 2 if nothing could be tried.
`

const options = {
  driver: { type: 'string' },
  config: { type: 'string' },
  'stand-in': { type: 'string' },
  only: { type: 'string', multiple: true },
  output: { type: 'string', short: 'o', default: 'table' },
  report: { type: 'string' },
  level: { type: 'string', default: '0' },
  proxy: { type: 'string' },
  osm: { type: 'string' },
  'built-in': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

/** What the program uses of the process that it runs in. */
export interface ProgramContext {
  readonly folder: string
  /** The process of a driver in another language gets of it what every program needs. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly node: string
  readonly platform: string
  readonly signal: AbortSignal
  readonly now: () => Date
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Module that plays the workloads of scenarios; that of this package if absent. */
  readonly actor?: string
}

/** Runs the command line. Never rejects. @returns the exit code */
export async function runConformance(args: readonly string[], context: ProgramContext): Promise<number> {
  try {
    return await run(args, context)
  } catch (error) {
    const own = error instanceof NoDriver || error instanceof UsageError
    context.err(`driver-testkit: ${own ? error.message : String(error instanceof Error ? error.stack : error)}\n`)
    return 2
  }
}

class UsageError extends Error {}

async function run(args: readonly string[], context: ProgramContext): Promise<number> {
  const values = parsed(args)
  if (values.help) {
    context.out(USAGE)
    return 0
  }
  const print = { table: asTable, json: (value: object) => `${JSON.stringify(value, null, 2)}\n`, yaml: asYaml }
  if (!isOneOf(print, values.output))
    throw new UsageError(`--output ${values.output}: expected ${Object.keys(print).join(', ')}`)
  if (values.driver === undefined) throw new UsageError(`--driver is missing\n\n${USAGE}`)
  if (values.level !== '0' && values.level !== '1') throw new UsageError(`--level ${values.level}: expected 0 or 1`)
  const config = readConfig(values.config, context.folder)
  const loaded = await loadDriver(values.driver, context)
  let results: readonly CheckResult[]
  let real: RealProxy | undefined
  try {
    const module = values['stand-in'] === undefined ? loaded.standIn : resolve(context.folder, values['stand-in'])
    const standIn = module === undefined ? {} : { standIn: await loadStandIn(module) }
    if (values.level === '1') real = await openRealProxy({ ...asked(values), ...context, loaded, config })
    const checks = chosen([...level0, ...(real?.level1.checks ?? [])], values.only)
    const onResult = real === undefined ? undefined : (result: CheckResult) => context.err(asLine(result))
    results = await runChecks(
      checks,
      { driver: loaded.driver, config, ...standIn },
      { signal: context.signal, ...(onResult !== undefined && { onResult }) },
    )
  } finally {
    await real?.close()
    await loaded.close?.()
  }
  const { node, platform } = context
  const programs = real === undefined ? {} : { programs: { osm: real.osm, proxy: real.proxy } }
  const report = makeReport({ kit: ownPackage(), loaded, results, date: context.now(), node, platform, ...programs })
  context.out(print[values.output](report))
  if (values.report !== undefined) {
    const folder = resolve(context.folder, values.report)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'conformance.yaml'), asYaml(report))
    writeFileSync(join(folder, 'conformance.html'), asHtml(report))
    context.err(`The report is in ${folder}: conformance.yaml and conformance.html.\n`)
  }
  return report.summary.failed === 0 ? 0 : 1
}

/** What the command line says of level 1. */
function asked(values: ReturnType<typeof parsed>): Pick<RealProxyOptions, 'osm' | 'proxy' | 'builtIn'> {
  return { osm: values.osm, proxy: values.proxy, builtIn: values['built-in'] }
}

function chosen(checks: readonly Check[], only: readonly string[] | undefined): readonly Check[] {
  if (only === undefined) return checks
  const found = checks.filter(({ id }) => only.some((start) => id.startsWith(start)))
  if (found.length > 0) return found
  throw new UsageError(`--only ${only.join(', ')}: the checks are ${checks.map(({ id }) => id).join(', ')}`)
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, strict: true }).values
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`)
  }
}

function readConfig(path: string | undefined, folder: string): JsonValue {
  if (path === undefined) return {}
  try {
    // JSON.parse gives nothing else.
    return JSON.parse(readFileSync(resolve(folder, path), 'utf8')) as JsonValue
  } catch (error) {
    throw new UsageError(`--config ${path}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function isOneOf<T extends object>(table: T, name: string): name is Extract<keyof T, string> {
  return Object.hasOwn(table, name)
}
