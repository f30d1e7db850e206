import type { Command } from 'commander'
import { stringify } from 'yaml'

import { wantsColor } from '../cli-context.js'
import { exitCodes } from '../exit-code.js'
import { outputOption, toJson } from '../output/format.js'
import { summarizePolicy } from '../proxy/policy-summary.js'
import { chooseProxy } from '../state/choose-proxy.js'
import { debugApi } from '../state/debug-api.js'
import { toText, type CommandHost } from './cli-command.js'
import { meshOf, stateOption, type StateFlags } from './state-option.js'

/** `osm proxy config <instance>` */
export function addProxyConfig(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('config')
    .description('show the policy of a proxy as the mesh sees it, whatever its sidecar class')
    .argument('<instance>', 'name of the instance, <namespace>/<instance>, or the uuid of its proxy')
    .addOption(stateOption())
    .addOption(outputOption(['summary', 'json', 'yaml']))
    .addHelpText(
      'after',
      '\nThe summary says who may call the proxy for what, and where its own calls go, with weights.',
    )
    .action(async (instance: string, flags: StateFlags & { readonly output: string }) => {
      const api = debugApi(meshOf(context, flags).controllerUrl, context.signal)
      const policy = await api.policy(chooseProxy(await api.statuses(), instance).uuid)
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(
        flags.output === 'json'
          ? toJson(policy)
          : flags.output === 'yaml'
            ? stringify(policy)
            : toText(summarizePolicy(policy, color)),
      )
      onExit(exitCodes.ok)
    })
}
