import { InvalidArgumentError, Option, type Command } from 'commander'

import { exitCodes } from '../exit-code.js'
import { outputOption } from '../output/format.js'
import type { CommandHost } from './cli-command.js'
import { untilAborted } from './until-aborted.js'
import { addSidecarOptions, runOptions, type RunFlags } from './run-options.js'

/** `osm standalone run <folder>` */
export function addStandaloneRun(parent: Command, { context, onExit }: CommandHost): void {
  addSidecarOptions(
    parent
      .command('run')
      .description('run a whole mesh on this machine, without Kubernetes, until Ctrl-C')
      .argument('<folder>', 'folder of YAML files: SMI and OSM objects, Services, ServiceAccounts and Workloads')
      .option(
        '--transparent',
        'redirect traffic by the kernel, one network namespace for each workload; needs root on Linux',
      )
      .option('--state <folder>', 'where the mesh keeps its roots and sockets (default: .osm-standalone)')
      .addOption(
        new Option(
          '--max-drain <seconds>',
          'how long a workload that ends is kept serving at most, while its callers learn of it (default: as its driver says)',
        ).argParser(seconds),
      ),
  )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Edits of the folder take effect while it runs. On a terminal a table shows who reaches whom; elsewhere lines tell it.
With -o json every event is one line of JSON.

Example:
  osm standalone run examples/bookstore/mesh`,
    )
    .action(async (folder: string, flags: RunFlags & { readonly output: string; readonly maxDrain?: number }) => {
      const { startMesh } = await import('@osm-ts/standalone')
      const { runMesh } = await import('../live/run-mesh.js')
      const { showLive } = await import('../live/show-live.js')
      const json = flags.output === 'json'
      const options = {
        ...(await runOptions(context, folder, flags)),
        startMesh,
        now: () => Date.now(),
        ...(flags.maxDrain !== undefined && { maxDrainMs: flags.maxDrain * 1000 }),
        ...(json && { onEvent: (event: object) => void context.stdout.write(`${JSON.stringify(event)}\n`) }),
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
