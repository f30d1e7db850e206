import type { Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { clusterFlagsOf, usesCluster } from '../kubernetes/cluster-options.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import type { MeshNamespace } from '../namespaces/mesh-namespaces.js'
import { outputOption, toJson } from '../output/format.js'
import { span } from '../output/style.js'
import { renderTable } from '../output/table.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'

interface AddFlags {
  readonly meshName: string
  readonly disableSidecarInjection?: true
}

/** `osm namespace` */
export function addNamespace(program: Command, host: CommandHost): void {
  const parent = program.command('namespace').description('manage the namespaces of a mesh')
  addAdd(parent, host)
  addRemove(parent, host)
  addIgnore(parent, host)
  addList(parent, host)
}

function addAdd(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('add'))
    .description('add namespaces to a mesh; new pods get a sidecar')
    .argument('<namespace...>', 'namespaces to add')
    .option('--mesh-name <name>', 'name of the mesh', 'osm')
    .option('--disable-sidecar-injection', 'do not add sidecars to new pods')
    .action(async (names: readonly string[], flags: AddFlags, command: Command) => {
      const { meshName, disableSidecarInjection = false } = flags
      const { addNamespace: add } = await import('../namespaces/mesh-namespaces.js')
      const cluster = await openCluster(host, clusterFlagsOf(command))
      const injection = disableSidecarInjection ? 'disabled' : 'enabled'
      for (const name of names) {
        await add(cluster, name, { meshName, injection })
        context.stdout.write(`Namespace [${name}] successfully added to mesh [${meshName}]\n`)
      }
      onExit(exitCodes.ok)
    })
}

function addRemove(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('remove'))
    .description('remove a namespace from a mesh; its pods keep their sidecars until they are recreated')
    .argument('<namespace>', 'namespace to remove')
    .option('--mesh-name <name>', 'name of the mesh', 'osm')
    .action(async (name: string, { meshName }: AddFlags, command: Command) => {
      const { removeNamespace } = await import('../namespaces/mesh-namespaces.js')
      await removeNamespace(await openCluster(host, clusterFlagsOf(command)), name, meshName)
      context.stdout.write(`Namespace [${name}] successfully removed from mesh [${meshName}]\n`)
      onExit(exitCodes.ok)
    })
}

function addIgnore(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('ignore'))
    .description('exclude namespaces from every mesh, regardless of their other labels')
    .argument('<namespace...>', 'namespaces to ignore')
    .action(async (names: readonly string[], _flags: object, command: Command) => {
      const { ignoreNamespace } = await import('../namespaces/mesh-namespaces.js')
      const cluster = await openCluster(host, clusterFlagsOf(command))
      for (const name of names) {
        await ignoreNamespace(cluster, name)
        context.stdout.write(`Namespace [${name}] successfully ignored by every mesh\n`)
      }
      onExit(exitCodes.ok)
    })
}

function addList(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('list'))
    .description('list the namespaces of one mesh or of all meshes')
    .option('--mesh-name <name>', 'name of the mesh (default: all)')
    .addOption(outputOption())
    .action(async (flags: { readonly meshName?: string; readonly output: string }, command: Command) => {
      const { listNamespaces } = await import('../namespaces/mesh-namespaces.js')
      const namespaces = await listNamespaces(await openCluster(host, clusterFlagsOf(command)), flags.meshName)
      const mesh = flags.meshName === undefined ? 'any mesh' : `mesh [${flags.meshName}]`
      const color = wantsColor(context.stdout, context.variables)
      if (flags.output === 'json') context.stdout.write(toJson(namespaces))
      else
        context.stdout.write(namespaces.length === 0 ? `No namespaces in ${mesh}\n` : toText(table(namespaces, color)))
      onExit(exitCodes.ok)
    })
}

function table(namespaces: readonly MeshNamespace[], color: boolean): readonly string[] {
  return renderTable(
    [{ title: 'NAMESPACE' }, { title: 'MESH' }, { title: 'SIDECAR-INJECTION' }],
    namespaces.map(({ namespace, mesh, sidecarInjection }) => [
      span(namespace),
      span(mesh),
      span(sidecarInjection === '' ? '-' : sidecarInjection),
    ]),
    { color },
  )
}
