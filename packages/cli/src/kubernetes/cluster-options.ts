import type { Command } from 'commander'

import type { CommandHost } from '../commands/cli-command.js'

/** Options of commands that speak of a cluster. They are the program's, so that they may stand anywhere. */
export interface ClusterFlags {
  readonly osmNamespace?: string
  readonly kubeconfig?: string
  readonly context?: string
}

/** Adds the options to the program. */
export function addClusterOptions(program: Command): void {
  program
    .option(
      '--osm-namespace <namespace>',
      'namespace of the control plane (default: $OSM_NAMESPACE, else the settings file)',
    )
    .option('--kubeconfig <file>', 'kubeconfig of the cluster (default: that of kubectl)')
    .option('--context <name>', 'context of the kubeconfig (default: the current context)')
}

/** Makes the help of a command show them. */
export function usesCluster(command: Command): Command {
  return command.configureHelp({ showGlobalOptions: true })
}

/** The options that were given, wherever they stood. */
export function clusterFlagsOf(command: Command): ClusterFlags {
  return command.optsWithGlobals<ClusterFlags>()
}

/** Namespace of the control plane. */
export function osmNamespaceOf(
  { osmNamespace }: ClusterFlags,
  { context, config }: Pick<CommandHost, 'context' | 'config'>,
): string {
  // Empty is what a script makes of a variable that is not set.
  return osmNamespace || context.variables['OSM_NAMESPACE'] || config.namespace
}
