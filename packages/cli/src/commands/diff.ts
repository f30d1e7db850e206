import type { ObjectKey } from '@osm-ts/core'
import { InvalidArgumentError, type Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { outputOption, toJson } from '../output/format.js'
import type { MeshModel } from '../spec/load-mesh-model.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import { meshLoaderOf } from './load-running-mesh.js'
import { meshSourceHelpByCluster, type MeshSourceFlags, stateOption } from './mesh-source.js'

interface DiffFlags extends MeshSourceFlags {
  readonly file?: readonly string[]
  readonly delete?: readonly string[]
  readonly folder?: string
  readonly exitCode?: boolean
  readonly output: string
}

/** `osm diff -f <path>` */
export function addDiff(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('diff'))
    .description('preview a change: access gained and lost, changed routes, new findings and affected proxies')
    .option('-f, --file <path...>', 'file or folder of YAML to apply, - for standard input; may be repeated')
    .option('--delete <object...>', 'object to delete: <kind>/<namespace>/<name>; may be repeated')
    .option('--folder <folder>', 'folder of the mesh to compare with (default: the running mesh)')
    .addOption(stateOption())
    .option('--exit-code', 'exit with 1 if the change has an effect')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Nothing is applied. The mesh before and after the change is computed with the code of the controller. In a folder, all Workloads are
assumed to run. The exit code is 1 if the change causes errors.
${meshSourceHelpByCluster}

Examples:
  osm diff -f access.yaml
  kubectl kustomize overlays/production | osm diff -f -
  osm diff --delete TrafficTarget/bookstore/bookstore
  osm diff --folder examples/bookstore/mesh -f access.yaml -o json`,
    )
    .action(async (flags: DiffFlags, command: Command) => {
      const { file = [], delete: deleted = [] } = flags
      if (file.length + deleted.length === 0)
        command.error('error: nothing would change: give --file <path> or --delete <object>')
      const removed = await Promise.all(deleted.map(parseDeleted))
      const { openInputFiles } = await import('../spec/input-files.js')
      const { proposedChange } = await import('../spec/proposed-change.js')
      const files = await openInputFiles(file, context)
      const load = await meshLoaderOf(host, flags, command)
      const before = await load({ running: true })
      for (const key of removed)
        if (before.snapshot.getByKey(key) === undefined) command.error(`error: the mesh has no object ${key}`)
      const after = await load({ running: true, change: proposedChange(files, removed) })
      const { blastRadius, isWithoutEffect } = await import('../diff/blast-radius.js')
      const { renderBlastRadius } = await import('../diff/render-blast-radius.js')
      const { withShortPlaces } = await import('../spec/short-places.js')
      const found = blastRadius(before, after)
      const short = (list: MeshModel['problems']): MeshModel['problems'] => withShortPlaces(list, context.cwd)
      const radius = {
        ...found,
        findings: { new: short(found.findings.new), resolved: short(found.findings.resolved) },
      }
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(flags.output === 'json' ? toJson(radius) : toText(renderBlastRadius(radius, color)))
      const isBad = radius.findings.new.some(({ severity }) => severity === 'error')
      onExit(isBad || (flags.exitCode === true && !isWithoutEffect(radius)) ? exitCodes.problem : exitCodes.ok)
    })
}

async function parseDeleted(text: string): Promise<ObjectKey> {
  const { parseObjectName } = await import('../spec/proposed-change.js')
  const key = parseObjectName(text)
  if (key === undefined)
    throw new InvalidArgumentError(
      `--delete ${text}: write <kind>/<namespace>/<name>, such as TrafficTarget/bookstore/bookstore.`,
    )
  return key
}
