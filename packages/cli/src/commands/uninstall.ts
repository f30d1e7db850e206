import { Option, type Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { findHelm } from '../helm/helm.js'
import { clusterFlagsOf, usesCluster } from '../kubernetes/cluster-options.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import { type CommandHost, exitCodes } from './cli-command.js'
import { helmOption, meshNameOption, refuseManaged, timeoutOption } from './install-options.js'
import { localPortOption } from './mesh.js'

interface UninstallFlags {
  readonly meshName?: string
  readonly force?: true
  readonly deleteClusterWideResources?: true
  readonly deleteNamespace?: true
  readonly caBundleSecretName: string
  readonly timeout: string
  readonly helm?: string
}

/** `osm uninstall` */
export function addUninstall(program: Command, host: CommandHost): void {
  const parent = program.command('uninstall').description('uninstall control planes')
  addUninstallMesh(parent, host)
}

function addUninstallMesh(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('mesh'))
    .description('uninstall control planes after confirmation')
    .addOption(meshNameOption('name of the mesh (default: ask for each mesh)'))
    .option('-f, --force', 'skip the confirmation')
    .option(
      '-a, --delete-cluster-wide-resources',
      'also delete the CRDs with all policies, and the webhook configurations and certificate authorities that no other mesh needs',
    )
    .option('--delete-namespace', 'also delete the namespace of the control plane and everything in it')
    .addOption(localPortOption())
    .addOption(
      new Option('--ca-bundle-secret-name <name>', 'Secret of the certificate authority').default('osm-ca-bundle'),
    )
    .addOption(timeoutOption('how long to wait until everything is deleted; 0 for no limit'))
    .addOption(helmOption())
    .addHelpText(
      'after',
      `
Running sidecars keep their last configuration. Without -a the trusted roots are kept, so that a new installation
can reuse them.`,
    )
    .action(async (flags: UninstallFlags, command: Command) => {
      refuseManaged(host, 'OSM CANNOT be uninstalled in a managed environment')
      const { meshName, force = false, deleteNamespace = false, deleteClusterWideResources = false } = flags
      const { caBundleSecretName, timeout } = flags
      const clusterFlags = clusterFlagsOf(command)
      const helm = await findHelm(context, flags.helm)
      const cluster = await openCluster(host, clusterFlags)
      const { uninstallMesh } = await import('../control-plane/uninstall-mesh.js')
      await uninstallMesh({
        ...{
          cluster,
          helm,
          flags: clusterFlags,
          context,
          meshName,
          force,
          deleteNamespace,
          deleteClusterWideResources,
        },
        ...{ caBundleSecretName, timeout, color: wantsColor(context.stdout, context.variables) },
      })
      onExit(exitCodes.ok)
    })
}
