import type { Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { exitCodes } from '../exit-code.js'
import { outputOption, toJson } from '../output/format.js'
import { allInOrder, renderStatus } from '../proxy/render-status.js'
import { debugApi } from '../state/debug-api.js'
import { toText, type CommandHost } from './cli-command.js'
import { meshOf, stateOption, type StateFlags } from './state-option.js'

/** `osm proxy status` */
export function addProxyStatus(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('status')
    .description('show whether each proxy has the configuration it should have, and what it refused')
    .addOption(stateOption())
    .addOption(outputOption())
    .addHelpText('after', '\nThe exit code is 1 if a proxy has not applied its configuration.')
    .action(async (flags: StateFlags & { readonly output: string }) => {
      const statuses = await debugApi(meshOf(context, flags).controllerUrl, context.signal).statuses()
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(
        flags.output === 'json' ? toJson(statuses) : toText(renderStatus(statuses, { now: Date.now(), color })),
      )
      onExit(allInOrder(statuses) ? exitCodes.ok : exitCodes.problem)
    })
}
