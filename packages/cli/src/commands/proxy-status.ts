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

/** `osm proxy status` */
export function addProxyStatus(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('status'))
    .description('show whether each proxy has applied its configuration, and what it rejected')
    .addOption(stateOption())
    .addOption(namespaceOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `${meshSourceHelp}\n\nThe exit code is 1 if a proxy has not applied its configuration, or has a condition. Codes of conditions and of refused
peers are listed in docs/reference/errors.md.`,
    )
    .action(async (flags: MeshSourceFlags & { readonly output: string }, command: Command) => {
      const { allInOrder, halfEnrolledServices, renderStatus } = await import('../proxy/render-status.js')
      const source = await meshSourceOf(host, flags, command)
      const api = await debugApiOf(source, context.signal)
      const [proxies, refused, problems] = await Promise.all([api.statuses(), api.refused(), api.problems()])
      const halfEnrolled = halfEnrolledServices(problems)
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(
        flags.output === 'json'
          ? toJson({ proxies, refused, halfEnrolled })
          : toText(renderStatus(proxies, refused, halfEnrolled, { now: Date.now(), color })),
      )
      onExit(allInOrder(proxies) ? exitCodes.ok : exitCodes.problem)
    })
}
