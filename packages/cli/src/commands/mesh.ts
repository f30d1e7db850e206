import { Option, type Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { cliError } from '../errors.js'
import { findChart } from '../helm/find-chart.js'
import { findHelm } from '../helm/helm.js'
import { clusterFlagsOf, usesCluster } from '../kubernetes/cluster-options.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import { outputOption, toJson } from '../output/format.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import { refuseManaged, withChartOptions, type ChartFlags } from './install-options.js'
import { addMeshParticipants } from './mesh-participants.js'

/** `osm mesh` */
export function addMesh(program: Command, host: CommandHost): void {
  const parent = program.command('mesh').description('list meshes and their control planes, and upgrade them')
  addList(parent, host)
  addMeshParticipants(parent, host)
  addUpgrade(parent, host)
}

/** The `--local-port` option of OSM, whose port-forward takes a port of this machine. */
export function localPortOption(): Option {
  return new Option('-p, --local-port <port>', 'not used; accepted for compatibility with OSM').default('9091')
}

function addList(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('list'))
    .description('list the control planes of the cluster')
    .addOption(localPortOption())
    .addOption(outputOption())
    .action(async ({ output }: { readonly output: string }, command: Command) => {
      const { listMeshes, renderMeshes } = await import('../control-plane/list-meshes.js')
      const meshes = await listMeshes(await openCluster(host, clusterFlagsOf(command)))
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(output === 'json' ? toJson(meshes) : toText(renderMeshes(meshes, color)))
      onExit(exitCodes.ok)
    })
}

function addUpgrade(parent: Command, host: CommandHost): void {
  const { context, config, onExit } = host
  withChartOptions(usesCluster(parent.command('upgrade', { hidden: config.kind === 'managed' })))
    .description('upgrade a control plane to the bundled chart with helm')
    .addHelpText(
      'after',
      `
Values from the installation are not kept: set them again with --set, or keep them with helm upgrade
--reset-then-reuse-values. The MeshConfig is kept, and new fields are added to it.

Example:
  osm mesh upgrade --set osm.image.registry=registry.example/mesh`,
    )
    .action(async (flags: ChartFlags, command: Command) => {
      refuseManaged(host, 'OSM cannot be upgraded in a managed environment')
      const { meshName, set, timeout } = flags
      const clusterFlags = clusterFlagsOf(command)
      const chart = findChart(context, flags.osmChartPath)
      const helm = await findHelm(context, flags.helm)
      const cluster = await openCluster(host, clusterFlags)
      const { findControlPlanes } = await import('../kubernetes/control-planes.js')
      const planes = await findControlPlanes(cluster)
      const namespace = cluster.osmNamespace
      const plane = planes.find((known) => known.meshName === meshName && known.namespace === namespace)
      if (plane === undefined)
        throw cliError(
          'OSM_CLI_MESH_MISSING',
          `there is no mesh [${meshName}] in namespace [${namespace}]`,
          planes.length === 0
            ? 'the cluster has no control plane; install one with osm install'
            : `choose one with --mesh-name and --osm-namespace: ${planes.map((known) => `[${known.meshName}] in [${known.namespace}]`).join(', ')}`,
        )
      const { upgradeMesh } = await import('../control-plane/install-mesh.js')
      const run = { helm, namespace, flags: clusterFlags, context, signal: context.signal }
      await upgradeMesh({ cluster, run, chart, meshName, set, timeout }, plane.release)
      context.stdout.write(`OSM successfully upgraded mesh [${meshName}] in namespace [${namespace}]\n`)
      onExit(exitCodes.ok)
    })
}
