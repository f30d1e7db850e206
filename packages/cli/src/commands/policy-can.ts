import type { Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { outputOption, toJson } from '../output/format.js'
import {
  parseCallee,
  parseCaller,
  parseHeader,
  parseMethod,
  parseName,
  parsePath,
  type Callee,
  type Caller,
} from '../policy-question.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import { meshLoaderOf } from './load-running-mesh.js'
import { meshSourceHelp, type StateFlags, stateOption } from './mesh-source.js'

interface CanFlags extends StateFlags {
  readonly folder?: string
  readonly header?: Readonly<Record<string, string>>
  readonly principal?: readonly string[]
  readonly sni?: string
  readonly output: string
}

/** `osm policy can <from> <to> [method] [path]` */
export function addPolicyCan(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('can'))
    .description('show whether a request would be allowed, and which rule decides')
    .argument(
      '<from>',
      'caller: <namespace>/<service account> or <namespace>/<workload>; from outside the mesh <IP address>, service:<namespace>/<service> or principal:<name>',
      parseCaller,
    )
    .argument(
      '<to>',
      'destination: <namespace>/<service>, or <namespace>/<service>:<port>; outside the mesh <host> or <IP address>, optionally with :<port> and http://, https:// or tcp://',
      parseCallee,
    )
    .argument('[method]', 'HTTP method; ignored for TCP', parseMethod, 'GET')
    .argument('[path]', 'path of the request; ignored for TCP', parsePath, '/')
    .option('-f, --folder <folder>', 'folder of YAML files with the policy (default: the running mesh)')
    .addOption(stateOption())
    .option('-H, --header <header>', "header of the request, as 'name: value'; may be repeated", parseHeader)
    .option('--principal <name>', 'name in the certificate of an outside caller; may be repeated', addName)
    .option(
      '--sni <name>',
      'TLS server name (SNI): of an outside caller, or of a connection to a port with TLSRoutes',
      parseName,
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
No request is sent: the answer is computed from the objects of the mesh with the code of the controller. The exit code is 0 if the request is allowed,
1 if not.
${meshSourceHelp}

For an outside destination without a protocol, HTTP is checked first (TLS on port 443), and then any connection. The default port is 80, or 443
with https://. An outside caller uses TLS if the service requires it.

Examples:
  osm policy can bookbuyer/bookbuyer bookstore/bookstore GET /buy-a-book/new -f examples/bookstore/mesh
  osm policy can bookthief/bookthief bookwarehouse/bookwarehouse:14001 POST /restock-books
  osm policy can shop/buyer catalogue.example.com GET /books
  osm policy can shop/buyer https://pay.example.com
  osm policy can shop/buyer 198.51.100.7:3306
  osm policy can shop/buyer shop/front:8443 --sni store.example.com
  osm policy can 203.0.113.9 shop/store GET /books
  osm policy can service:edge/gateway shop/store --principal gateway.example.com --sni store.example.com`,
    )
    .action(async (from: Caller, to: Callee, method: string, path: string, flags: CanFlags, command: Command) => {
      const load = await meshLoaderOf(host, flags, command)
      const loaded = await load()
      const { askPolicy } = await import('../spec/ask-policy.js')
      const request = { method, path, headers: flags.header ?? {} }
      const answer = await askPolicy(loaded, { from, to, request, principals: flags.principal, serverName: flags.sni })
      if (typeof answer === 'string') return command.error(`error: ${answer}`)
      const { json, allowed, lines } = answer
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(flags.output === 'json' ? toJson(json) : toText(lines({ cwd: context.cwd, color })))
      onExit(allowed ? exitCodes.ok : exitCodes.problem)
    })
}

function addName(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, parseName(text)]
}
