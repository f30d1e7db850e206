import type { Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { outputOption, toJson } from '../output/format.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import {
  debugApiOf,
  meshSourceHelp,
  meshSourceOf,
  namespaceOption,
  type MeshSourceFlags,
  stateOption,
} from './mesh-source.js'

/** `osm mesh participants` */
export function addMeshParticipants(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('participants'))
    .description('list the participants of the mesh: proxies with a certificate, a connection and an endpoint')
    .addOption(stateOption())
    .addOption(namespaceOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
States of a proxy:
  participant       it has a certificate, is connected, and a service has an endpoint behind it
  without endpoint  it is connected, and no service has an endpoint behind it
  disconnected      it was connected before, but is not connected now
  unclaimed         a certificate was issued for it, but it has not connected yet
Endpoints without a connected proxy are listed below the table, with the endpoints provider that has discovered each.
${meshSourceHelp}`,
    )
    .action(async (flags: MeshSourceFlags & { readonly output: string }, command: Command) => {
      const { renderParticipation } = await import('../proxy/render-participation.js')
      const source = await meshSourceOf(host, flags, command)
      const report = await (await debugApiOf(source, context.signal)).participation()
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(flags.output === 'json' ? toJson(report) : toText(renderParticipation(report, color)))
      onExit(exitCodes.ok)
    })
}
