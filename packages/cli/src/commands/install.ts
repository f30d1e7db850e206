import type { Command } from 'commander'

import { findChart } from '../helm/find-chart.js'
import { findHelm } from '../helm/helm.js'
import { clusterFlagsOf, usesCluster } from '../kubernetes/cluster-options.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import { type CommandHost, exitCodes } from './cli-command.js'
import { isOn, refuseManaged, switchOption, withChartOptions, type ChartFlags } from './install-options.js'

interface InstallFlags extends ChartFlags {
  readonly enforceSingleMesh: string | boolean
  readonly atomic: string | boolean
}

/** `osm install` */
export function addInstall(program: Command, host: CommandHost): void {
  const { context, config, onExit } = host
  withChartOptions(usesCluster(program.command('install', { hidden: config.kind === 'managed' })))
    .description('install a control plane on a Kubernetes cluster with helm')
    .addOption(switchOption('--enforce-single-mesh', 'allow no other mesh in the cluster', true))
    .addOption(switchOption('--atomic', 'remove the installation if it does not become ready in time', false))
    .addHelpText(
      'after',
      `
The namespace of --osm-namespace is created if it does not exist. Before any change, osm checks for conflicts, such as
another mesh. While it waits, it prints the progress of the pods. If the installation fails, it prints their last state.

Examples:
  osm install
  osm install --mesh-name shop --osm-namespace shop-system --enforce-single-mesh=false
  osm install --set osm.image.registry=registry.example/mesh --set osm.enablePermissiveTrafficPolicy=false`,
    )
    .action(async (flags: InstallFlags, command: Command) => {
      refuseManaged(host, 'OSM cannot be installed in a managed environment')
      const { meshName, set, timeout } = flags
      const clusterFlags = clusterFlagsOf(command)
      const chart = findChart(context, flags.osmChartPath)
      const helm = await findHelm(context, flags.helm)
      const cluster = await openCluster(host, clusterFlags)
      const namespace = cluster.osmNamespace
      const { installMesh } = await import('../control-plane/install-mesh.js')
      const run = { helm, namespace, flags: clusterFlags, context, signal: context.signal }
      await installMesh(
        { cluster, run, chart, meshName, set, timeout },
        { enforceSingleMesh: isOn(flags.enforceSingleMesh), atomic: isOn(flags.atomic) },
      )
      context.stdout.write(`OSM installed successfully in namespace [${namespace}] with mesh name [${meshName}]\n`)
      onExit(exitCodes.ok)
    })
}
