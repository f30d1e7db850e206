import { InvalidArgumentError, type Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { cliError } from '../errors.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { outputOption, toJson } from '../output/format.js'
import type { NamedThing } from '../policy-question.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import {
  debugApiOf,
  meshSourceHelp,
  meshSourceOf,
  namespaceOption,
  type MeshSourceFlags,
  stateOption,
} from './mesh-source.js'

/** `osm policy show <service>` */
export function addPolicyShow(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('show'))
    .description('show the callers, host names, traffic shares, endpoints and ingress of a service')
    .argument('<service>', '<namespace>/<service>', parseService)
    .addOption(stateOption())
    .addOption(namespaceOption())
    .addOption(outputOption())
    .addHelpText('after', `${meshSourceHelp}\n\nExample:\n  osm policy show bookstore/bookstore`)
    .action(async (name: NamedThing, flags: MeshSourceFlags & { readonly output: string }, command: Command) => {
      const { renderService } = await import('../policy/render-service.js')
      const source = await meshSourceOf(host, flags, command)
      const report = await (await debugApiOf(source, context.signal)).service(name)
      if (report === undefined)
        throw cliError(
          'OSM_CLI_NOT_FOUND',
          `the mesh has no Service ${name.namespace}/${name.name}`,
          'check the name, and that its namespace is part of the mesh',
        )
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(flags.output === 'json' ? toJson(report) : toText(renderService(report, color)))
      onExit(exitCodes.ok)
    })
}

function parseService(text: string): NamedThing {
  const { namespace, name } = /^(?<namespace>[^/\s]+)\/(?<name>[^/\s]+)$/.exec(text)?.groups ?? {}
  if (namespace === undefined || name === undefined) throw new InvalidArgumentError('write <namespace>/<service>.')
  return { namespace, name }
}
