import type { Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { outputOption, toJson } from '../output/format.js'
import { chooseProxy } from '../state/choose-proxy.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import {
  debugApiOf,
  meshSourceHelp,
  meshSourceOf,
  namespaceOption,
  type MeshSourceFlags,
  stateOption,
} from './mesh-source.js'

/** `osm proxy config <instance>` */
export function addProxyConfig(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('config'))
    .description('show the policy of a proxy, independent of its sidecar class')
    .argument('<instance>', 'name of the instance or pod, <namespace>/<instance>, or the uuid of its proxy')
    .addOption(stateOption())
    .addOption(namespaceOption())
    .addOption(outputOption(['summary', 'json', 'yaml']))
    .addHelpText(
      'after',
      `${meshSourceHelp}\n\nThe summary shows the callers that the proxy allows, and the destinations of its own calls with their weights.`,
    )
    .action(async (instance: string, flags: MeshSourceFlags & { readonly output: string }, command: Command) => {
      const { toYaml } = await import('../output/to-yaml.js')
      const { summarizePolicy } = await import('../proxy/policy-summary.js')
      const api = await debugApiOf(await meshSourceOf(host, flags, command), context.signal)
      const policy = await api.policy(chooseProxy(await api.statuses(), instance))
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(
        flags.output === 'json'
          ? toJson(policy)
          : flags.output === 'yaml'
            ? toYaml(policy)
            : toText(summarizePolicy(policy, color)),
      )
      onExit(exitCodes.ok)
    })
}
