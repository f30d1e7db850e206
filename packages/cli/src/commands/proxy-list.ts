import type { Command } from 'commander'
import type { ProxyStatus } from '@osm-ts/core'

import { wantsColor } from '../cli-context.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { outputOption, toJson } from '../output/format.js'
import { span } from '../output/style.js'
import { renderTable } from '../output/table.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import {
  debugApiOf,
  meshSourceHelp,
  meshSourceOf,
  namespaceOption,
  type MeshSourceFlags,
  stateOption,
} from './mesh-source.js'

/** `osm proxy list` */
export function addProxyList(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('list'))
    .description('list the proxies of the mesh')
    .addOption(stateOption())
    .addOption(namespaceOption())
    .addOption(outputOption())
    .addHelpText('after', meshSourceHelp)
    .action(async (flags: MeshSourceFlags & { readonly output: string }, command: Command) => {
      const source = await meshSourceOf(host, flags, command)
      const statuses = await (await debugApiOf(source, context.signal)).statuses()
      const rows = [...statuses].sort((a, b) => (a.name < b.name ? -1 : 1))
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(flags.output === 'json' ? toJson(rows.map(listed)) : toText(table(rows, color)))
      onExit(exitCodes.ok)
    })
}

function listed({ name, identity, class: sidecarClass, connected, uuid }: ProxyStatus): object {
  return { name, identity, class: sidecarClass, connected, uuid }
}

function table(rows: readonly ProxyStatus[], color: boolean): readonly string[] {
  return renderTable(
    [{ title: 'NAME' }, { title: 'IDENTITY' }, { title: 'CLASS' }, { title: 'CONNECTED' }, { title: 'UUID' }],
    rows.map(({ name, identity, class: sidecarClass, connected, uuid }) => [
      span(name),
      span(identity),
      span(sidecarClass),
      span(connected ? 'yes' : 'no', connected ? 'good' : 'bad'),
      span(uuid, 'dim'),
    ]),
    { color },
  )
}
