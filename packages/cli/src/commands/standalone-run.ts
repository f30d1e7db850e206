import { resolve } from 'node:path'

import { InvalidArgumentError, Option, type Command } from 'commander'
import { untilAborted } from '@osm-ts/driver-api/toolkit'

import { outputOption, toJsonLine } from '../output/format.js'
import { type CommandHost, exitCodes } from './cli-command.js'
import { addSidecarOptions, runOptions, type RunFlags } from './run-options.js'

/** Options of `osm standalone run` beside those of all commands that run a mesh. */
interface StandaloneFlags {
  readonly output: string
  readonly maxDrain?: number
  readonly machineAddress?: string
  readonly workloadApiSocket?: string
}

/** `osm standalone run <folder>` */
export function addStandaloneRun(parent: Command, { context, onExit }: CommandHost): void {
  addSidecarOptions(
    parent
      .command('run')
      .description('run a mesh on this machine, without Kubernetes, until Ctrl-C')
      .argument('<folder>', 'folder of YAML files: SMI and OSM objects, Services, ServiceAccounts and Workloads')
      .option(
        '--transparent',
        'redirect traffic with iptables, in one network namespace per workload; needs root on Linux',
      )
      .addOption(
        new Option(
          '--machine-address <ip>',
          'address of this machine for machines that join the mesh; sidecars also listen on it',
        ).conflicts('transparent'),
      )
      .option(
        '--workload-api-socket <path>',
        'Unix socket of a SPIFFE Workload API, such as that of a SPIRE agent. Sidecars that support it get their certificates there, and its roots are trusted',
      )
      .option('--state <folder>', 'state folder for roots and sockets (default: .osm-standalone)')
      .addOption(
        new Option(
          '--max-drain <seconds>',
          'maximum time that a stopping workload serves requests while its callers are updated (default: set by its driver)',
        ).argParser(seconds),
      ),
  )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Changes in the folder take effect at runtime. On a terminal a live table shows the traffic; otherwise it is printed as lines.
With -o json every event is one line of JSON.

Example:
  osm standalone run examples/bookstore/mesh`,
    )
    .action(async (folder: string, flags: RunFlags & StandaloneFlags) => {
      const { startMesh } = await import('@osm-ts/standalone')
      const { runMesh } = await import('../live/run-mesh.js')
      const { showLive } = await import('../live/show-live.js')
      const json = flags.output === 'json'
      const options = {
        ...(await runOptions(context, folder, flags)),
        startMesh,
        now: () => Date.now(),
        ...(flags.maxDrain !== undefined && { maxDrainMs: flags.maxDrain * 1000 }),
        ...(flags.workloadApiSocket !== undefined && {
          workloadApiSocket: resolve(context.cwd, flags.workloadApiSocket),
        }),
        ...(flags.machineAddress !== undefined && { machineAddress: flags.machineAddress }),
        ...(json && { onEvent: (event: object) => void context.stdout.write(toJsonLine(event)) }),
      }
      await runMesh(context, options, ({ observer, signal }) =>
        json ? untilAborted(signal) : showLive(context, observer, signal),
      )
      onExit(exitCodes.ok)
    })
}

function seconds(value: string): number {
  if (!/^\d+(\.\d+)?$/.test(value)) throw new InvalidArgumentError('It must be a number of seconds, such as 0.5.')
  return Number(value)
}
