import { Argument, type Command } from 'commander'

import { cliError } from '../errors.js'
import { exitCodes } from '../exit-code.js'
import { chooseProxy } from '../state/choose-proxy.js'
import { debugApi } from '../state/debug-api.js'
import { httpGet } from '../state/http-get.js'
import type { CommandHost } from './cli-command.js'
import { meshOf, stateOption, type StateFlags } from './state-option.js'

const pages = ['config_dump', 'clusters', 'listeners', 'stats', 'certs', 'ready']

/** `osm proxy get <page> <instance>` */
export function addProxyGet(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('get')
    .description("print a page of a sidecar's own administration interface")
    .addArgument(new Argument('<page>', 'what to print').choices(pages))
    .argument('<instance>', 'name of the instance, <namespace>/<instance>, or the uuid of its proxy')
    .addOption(stateOption())
    .action(async (page: string, instance: string, flags: StateFlags) => {
      const mesh = meshOf(context, flags)
      const api = debugApi(mesh.controllerUrl, context.signal)
      const { uuid, name } = chooseProxy(await api.statuses(), instance)
      const { listen } = (await api.policy(uuid)).proxy
      if (listen.admin === undefined)
        throw cliError(
          'OSM_CLI_UNREACHABLE',
          `the sidecar of ${name} has no administration interface`,
          'see osm proxy config',
        )
      const url = `http://${listen.admin.address}:${listen.admin.port}/${page}`
      // The interface listens on loopback only, and in transparent mode that is the loopback of the workload's network namespace.
      if (mesh.mode === 'transparent')
        throw cliError(
          'OSM_CLI_UNREACHABLE',
          `in transparent mode the administration interface of ${name} is inside the network namespace of the workload`,
          `as root, run ip netns exec <namespace> curl -s ${url} with the one of ip netns list that ends in .${name.replace('/', '.')}`,
        )
      const { status, body } = await httpGet(url, { signal: context.signal }).catch((error: unknown) => {
        throw cliError(
          'OSM_CLI_UNREACHABLE',
          `the sidecar of ${name} does not answer at ${url}`,
          'see osm proxy status',
          error,
        )
      })
      context.stdout.write(body.endsWith('\n') ? body : `${body}\n`)
      onExit(status === 200 ? exitCodes.ok : exitCodes.problem)
    })
}
