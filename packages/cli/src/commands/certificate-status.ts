import type { Command } from 'commander'

import type { ControllerCertificates } from '../certificates/render-certificates.js'
import { wantsColor } from '../cli-context.js'
import { clusterCertificates } from '../kubernetes/cluster-debug.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { outputOption, toJson } from '../output/format.js'
import { debugApi } from '../state/debug-api.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import {
  meshSourceHelp,
  type MeshSource,
  meshSourceOf,
  namespaceOption,
  type MeshSourceFlags,
  stateOption,
} from './mesh-source.js'

/** `osm certificate status` */
export function addCertificateStatus(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('status'))
    .description('show the signing provider, the trusted roots and the progress of a provider change')
    .addOption(stateOption())
    .addOption(namespaceOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
CERTIFICATES is the number of certificates in use that each root has signed, for one controller. You can withdraw a root that no longer signs
and has no certificates in use. In a cluster, each controller is listed.
${meshSourceHelp}

The exit code is 1 if a provider fails to issue certificates, a provider change is in progress, or a root expires within 30 days.`,
    )
    .action(async (flags: MeshSourceFlags & { readonly output: string }, command: Command) => {
      const { areInOrder, renderCertificates } = await import('../certificates/render-certificates.js')
      const controllers = await certificatesOf(await meshSourceOf(host, flags, command), context.signal)
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(
        flags.output === 'json'
          ? toJson({ controllers: controllers.map(withoutLeaves) })
          : toText(renderCertificates(controllers, color)),
      )
      onExit(areInOrder(controllers) ? exitCodes.ok : exitCodes.problem)
    })
}

/** Certificates of workloads are counted by root: there may be thousands. */
function withoutLeaves({
  certificates: _certificates,
  ...rest
}: ControllerCertificates): Omit<ControllerCertificates, 'certificates'> {
  return rest
}

async function certificatesOf(source: MeshSource, signal: AbortSignal): Promise<readonly ControllerCertificates[]> {
  if (source.kind === 'cluster') return clusterCertificates(source.cluster)
  const { controllerUrl } = source.mesh
  return [{ controller: controllerUrl, ...(await debugApi(controllerUrl, signal).certificates()) }]
}
