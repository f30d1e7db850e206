import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { InvalidArgumentError, Option, type Command } from 'commander'
import type { RunningMesh } from '@osm-ts/standalone'

import { wantsColor, type CliContext } from '../cli-context.js'
import { bookstoreScene, machinesScene } from '../demo/bookstore.js'
import type { DemoMachines } from '../demo/demo-machines.js'
import type { DemoReport } from '../demo/demo-report.js'
import type { LiveView } from '../live/live-view.js'
import type { LiveMesh, RunMeshOptions } from '../live/run-mesh.js'
import { toJsonLine } from '../output/format.js'
import { isAlive } from '../state/find-mesh.js'
import { toText, type CommandHost, exitCodes, type ExitCode } from './cli-command.js'
import { addSidecarOptions, runOptions, type RunFlags } from './run-options.js'
import { meshOf } from './mesh-source.js'

interface DemoFlags extends RunFlags {
  readonly folder?: string
  readonly machines?: boolean
  readonly once?: boolean
  readonly json?: boolean
  readonly dashboard?: boolean
  readonly seconds: number
}

const defaultSeconds = 15
const maxSeconds = 3600
const bookstoreFolder = 'examples/bookstore/mesh'
const machinesFolder = 'examples/bookstore/machines'
/** Only processes of this machine take part. */
const LOOPBACK = '127.0.0.1'
/** Lines of the report's picture, where no terminal says how wide it is. */
const pictureColumns = 100

/** `osm demo` */
export function addDemo(parent: Command, { context, onExit }: CommandHost): void {
  addSidecarOptions(
    parent
      .command('demo')
      .description('run the bookstore demo with a live table of allowed, denied and split traffic')
      .option(
        '--transparent',
        'redirect traffic with iptables, in one network namespace per workload; needs root on Linux',
      )
      .addOption(
        new Option(
          '--machines',
          'run one Service with three kinds of endpoints: a process in place of a pod, a virtual machine, and a machine that joins',
        ).conflicts(['transparent', 'endpointsProviders']),
      )
      .option('--dashboard', 'serve the page of osm dashboard while the demo runs, and open it from a terminal')
      .option('--once', 'observe traffic for a limited time, compare it with the policy, and exit')
      .option('--json', 'print the result of --once as one JSON object in the last line')
      .option(
        '--seconds <number>',
        'how long --once observes traffic after all proxies are configured',
        wholeSeconds,
        defaultSeconds,
      )
      .option(
        '--folder <folder>',
        `folder with the mesh, or a copy of it (default: ${bookstoreFolder}, or ${machinesFolder}/mesh)`,
      )
      .option('--state <folder>', 'state folder for roots and sockets (default: .osm-standalone)'),
  )
    .addHelpText(
      'after',
      `
The folder is run in place: while the demo runs, edit its YAML and watch the table.
With --once, the exit code is 0 only if all expectations are met.

Examples:
  npm run demo
  npm run demo -- --dashboard
  npm run demo -- --machines
  npm run demo -- --once --json`,
    )
    .action(async (flags: DemoFlags, command: Command) => {
      const isBounded = flags.once === true || flags.json === true
      if (flags.dashboard === true && isBounded)
        command.error('error: --dashboard is for a demo that runs until Ctrl-C; leave out --once and --json')
      const { startMesh } = await import('@osm-ts/standalone')
      const folder = flags.folder ?? (flags.machines === true ? join(machinesFolder, 'mesh') : bookstoreFolder)
      const options = { ...(await runOptions(context, folder, flags)), startMesh, now: () => Date.now() }
      const demo = { context, flags, options, isBounded }
      onExit(await (flags.machines === true ? withScratch((scratch) => runWithMachines(demo, scratch)) : runDemo(demo)))
    })
}

/** A demo that is about to run. */
interface Demo {
  readonly context: CliContext
  readonly flags: DemoFlags
  readonly options: RunMeshOptions
  /** True: it ends by itself, and has a result. */
  readonly isBounded: boolean
  /** Starts what takes part from elsewhere. */
  readonly startMachines?: (live: LiveMesh) => Promise<DemoMachines>
}

/** Runs a demo whose machines store everything in a folder. */
async function runWithMachines({ context, flags, options, ...demo }: Demo, scratch: string): Promise<ExitCode> {
  const { listedProviders } = await import('@osm-ts/driver-process')
  const { startDemoMachines } = await import('../demo/demo-machines.js')
  const instancesFile = join(scratch, 'instances.json')
  writeFileSync(instancesFile, JSON.stringify({ services: [] }))
  const providers = JSON.stringify({ providers: [{ name: 'file', settings: { path: instancesFile } }] })
  const run: RunMeshOptions = {
    ...options,
    // A demo that was killed would otherwise be continued, with a machine that is gone.
    ...(flags.state === undefined && { stateFolder: join(scratch, 'mesh') }),
    machineAddress: LOOPBACK,
    endpointsProviders: await listedProviders(providers, {}),
  }
  const vmFolder = resolve(context.cwd, machinesFolder, 'vm')
  const programs = resolve(context.cwd, machinesFolder, '..')
  return runDemo({
    ...demo,
    context,
    flags,
    options: run,
    startMachines: (live) => startDemoMachines(context, live, { vmFolder, programs, scratch, instancesFile, run }),
  })
}

async function withScratch<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'osm-demo-'))
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runDemo(demo: Demo): Promise<ExitCode> {
  const { context, flags, options, isBounded } = demo
  // A result in JSON is the result of one bounded run.
  if (!isBounded) {
    const { showLive } = await import('../live/show-live.js')
    await runMeshWithMachines(demo, async (live) => {
      const show = (): Promise<void> => showLive(context, live.observer, live.signal)
      await (flags.dashboard === true ? withDashboard(context, options.stateFolder, live, show) : show())
    })
    return exitCodes.ok
  }
  const { observeDemo } = await import('../demo/observe-demo.js')
  const { demoReport } = await import('../demo/demo-report.js')
  let pids: readonly number[] = []
  let view: LiveView | undefined
  const seen = await runMeshWithMachines(demo, async (live, machines) => {
    const observations = await observeDemo(live, {
      ...(flags.machines === true ? machinesScene : bookstoreScene),
      seconds: flags.seconds,
      now: options.now,
      nodeProgram: context.nodeProgram,
      // How a sidecar tells of its certificate is agreed on for built-in classes alone.
      silentClasses: new Set((options.driverPackages ?? []).map(({ name }) => name)),
    })
    view = live.observer.view()
    pids = [...processesOf(live.mesh), ...(machines?.pids() ?? [])]
    return observations
  })
  if (seen === undefined || view === undefined) {
    context.stderr.write('osm: ended before the demo was over\n')
    return exitCodes.problem
  }
  return tell(context, demoReport({ ...seen, leftovers: pids.filter(isAlive) }), view, flags.json === true)
}

/** Runs the mesh, and beside it the machines of the demo, if it has any. */
async function runMeshWithMachines<T>(
  { context, options, startMachines }: Demo,
  use: (live: LiveMesh, machines: DemoMachines | undefined) => Promise<T>,
): Promise<T | undefined> {
  const { runMesh } = await import('../live/run-mesh.js')
  return runMesh(context, options, async (live) => {
    const machines = await startMachines?.(live)
    try {
      // Before all places answered, requests found no one.
      if (machines !== undefined) live.observer.restart()
      return await use(live, machines)
    } finally {
      await machines?.stop()
    }
  })
}

/** Serves the dashboard while something else is shown. */
async function withDashboard(
  context: CliContext,
  stateFolder: string,
  { observer, signal }: LiveMesh,
  show: () => Promise<void>,
): Promise<void> {
  const { startDashboard } = await import('../dashboard/start-dashboard.js')
  const { openBrowser } = await import('../dashboard/open-browser.js')
  const mesh = meshOf(context, { state: stateFolder })
  const { url, closed } = await startDashboard(context, { kind: 'local', mesh }, { port: 0, signal })
  observer.setDashboardUrl(url)
  context.stderr.write(`dashboard: ${url}\n`)
  const forget = context.stdout.isTTY ? await openBrowser(url, context.variables) : undefined
  try {
    await show()
    await closed
  } finally {
    await forget?.()
  }
}

async function tell(
  { stdout, variables }: CliContext,
  report: DemoReport,
  view: LiveView,
  json: boolean,
): Promise<ExitCode> {
  const color = wantsColor(stdout, variables)
  if (json) stdout.write(toJsonLine(report))
  else {
    const { renderLive } = await import('../live/render-live.js')
    const { renderReport } = await import('../demo/render-report.js')
    const columns = stdout.isTTY ? stdout.columns : pictureColumns
    stdout.write(toText([...renderLive(view, { columns, color }), '', ...renderReport(report, color)]))
  }
  return report.ok ? exitCodes.ok : exitCodes.problem
}

function processesOf(mesh: RunningMesh): readonly number[] {
  const all = [mesh.controllerPid(), ...mesh.instances().flatMap(({ pid, sidecarPid }) => [pid, sidecarPid])]
  return all.filter((pid) => pid !== undefined)
}

function wholeSeconds(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1 && value <= maxSeconds) return value
  throw new InvalidArgumentError(`write a whole number from 1 to ${maxSeconds}.`)
}
