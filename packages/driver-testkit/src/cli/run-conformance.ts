import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import type { JsonValue } from '@osm-ts/driver-api/policy'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { type Check, type CheckResult, runChecks } from '../conformance/check.js'
import { level0 } from '../conformance/level-0.js'
import { loadDriver, loadStandIn, NoDriver, ownPackage } from './load-driver.js'
import { openRealProxy, type RealProxy, type RealProxyOptions } from './real-proxy.js'
import { openRealCluster, type RealCluster, type RealClusterOptions } from './real-cluster.js'
import { asHtml, asLine, asTable, asYaml, type ClusterFacts, makeReport } from './report.js'

const DEFAULT_IMAGE = 'docker.io/library/node:22-alpine'

const USAGE = `driver-testkit --driver <package or folder> [options]

Runs the conformance suite on a sidecar driver. Level 0 is the contract itself, without a proxy. Level 1 adds its
real proxy as a process of this machine: scenarios of traffic and policies, and faults. Level 2 adds a cluster in
which the mesh is installed, with the driver; level 1 is then made if --proxy is given.

  --driver <package or folder>  what to try
  --level 0|1|2                 how far; 0 if absent
  --config <file>               JSON: sidecarDrivers[].config that it is tried with; {} if absent
  --stand-in <module>           what speaks for its proxies: a module that exports a StandIn as standIn; that of
                                the package's osmDriver.standIn if absent. Without any, the checks of policies are not made
  --only <id>                   a check, or the first words of several such as patch.; may be repeated
  --proxy <executable>          level 1: what runs as its sidecar; $<CLASS>_BIN if absent
  --osm <program>               level 1: what runs meshes; that of the installed @osm-ts/cli if absent
  --mode explicit|transparent   level 1: how connections get into sidecars; explicit if absent. transparent: the
                                kernel redirects them, as in pods, which takes root on Linux and iptables
  --built-in                    level 1: that program brings the driver itself, which is tried then
  --kubeconfig <file>           level 2: the cluster; kubectl's own choice if absent
  --kubectl <program>           level 2: the kubectl to run; that of the PATH if absent
  --osm-namespace <name>        level 2: where the control plane is; osm-system if absent
  --sidecar-class <name>        level 2: the class that pods ask for; that of the driver if absent
  --app-image <image>           level 2: any image with Node.js 20 or newer; ${DEFAULT_IMAGE} if absent
  --app-node <path>             level 2: how Node.js is called in it; node if absent
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
  mode: { type: 'string', default: 'explicit' },
  'built-in': { type: 'boolean', default: false },
  kubeconfig: { type: 'string' },
  kubectl: { type: 'string', default: 'kubectl' },
  'osm-namespace': { type: 'string', default: 'osm-system' },
  'sidecar-class': { type: 'string' },
  'app-image': { type: 'string', default: DEFAULT_IMAGE },
  'app-node': { type: 'string', default: 'node' },
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
  /** True: it may set up network namespaces and the redirection of connections. */
  readonly mayIntercept?: boolean
  /** Module that plays the workloads of a cluster; that of this package if absent. */
  readonly podApp?: string
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
  const { level } = values
  if (!isLevel(level)) throw new UsageError(`--level ${level}: expected 0, 1 or 2`)
  const config = readConfig(values.config, context.folder)
  const loaded = await loadDriver(values.driver, context)
  let results: readonly CheckResult[]
  let real: RealProxy | undefined
  let cluster: RealCluster | undefined
  try {
    const module = values['stand-in'] === undefined ? loaded.standIn : resolve(context.folder, values['stand-in'])
    const standIn = module === undefined ? {} : { standIn: await loadStandIn(module) }
    if (level === '1' || (level === '2' && values.proxy !== undefined))
      real = await openRealProxy({ ...asked(values), ...context, loaded, config })
    if (level === '2') cluster = await openRealCluster({ ...askedOfCluster(values), ...context, loaded })
    const all = [...level0, ...(real?.level1.checks ?? []), ...(cluster?.level2.checks ?? [])]
    const checks = chosen(all, values.only)
    const onResult = level === '0' ? undefined : (result: CheckResult) => context.err(asLine(result))
    results = await runChecks(
      checks,
      { driver: loaded.driver, config, ...standIn },
      { signal: context.signal, ...(onResult !== undefined && { onResult }) },
    )
  } finally {
    await real?.close()
    await cluster?.close()
    await loaded.close?.()
  }
  const { node, platform } = context
  const report = makeReport({
    kit: ownPackage(),
    loaded,
    results,
    date: context.now(),
    node,
    platform,
    ...(real !== undefined && { programs: { osm: real.osm, proxy: real.proxy, mode: real.mode } }),
    ...(cluster !== undefined && { cluster: factsOf(cluster) }),
  })
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
function asked(values: ReturnType<typeof parsed>): Pick<RealProxyOptions, 'osm' | 'proxy' | 'mode' | 'builtIn'> {
  const { osm, proxy, mode } = values
  if (mode !== 'explicit' && mode !== 'transparent')
    throw new UsageError(`--mode ${mode}: expected explicit or transparent`)
  return { osm, proxy, mode, builtIn: values['built-in'] }
}

/** What the command line says of level 2. */
function askedOfCluster(
  values: ReturnType<typeof parsed>,
): Omit<RealClusterOptions, 'loaded' | 'folder' | 'environment' | 'signal'> {
  return {
    kubeconfig: values.kubeconfig,
    kubectl: values.kubectl,
    osmNamespace: values['osm-namespace'],
    sidecarClass: values['sidecar-class'],
    appImage: values['app-image'],
    appNode: values['app-node'],
  }
}

function factsOf({ mesh, sidecarClass, level2 }: RealCluster): ClusterFacts {
  const { kubernetes, controller } = mesh
  return { kubernetes, controller, sidecar: level2.sidecarImage, sidecarClass }
}

function isLevel(text: string): text is '0' | '1' | '2' {
  return ['0', '1', '2'].includes(text)
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
    throw new UsageError(`${errorMessage(error)}\n\n${USAGE}`)
  }
}

function readConfig(path: string | undefined, folder: string): JsonValue {
  if (path === undefined) return {}
  try {
    // JSON.parse gives nothing else.
    return JSON.parse(readFileSync(resolve(folder, path), 'utf8')) as JsonValue
  } catch (error) {
    throw new UsageError(`--config ${path}: ${errorMessage(error)}`)
  }
}

function isOneOf<T extends object>(table: T, name: string): name is Extract<keyof T, string> {
  return Object.hasOwn(table, name)
}
