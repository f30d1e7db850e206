import { resolve } from 'node:path'

import type { Command } from 'commander'
import type { ServiceAccountRef } from '@osm-ts/driver-api'
import type { Snapshot } from '@osm-ts/core'

import { wantsColor } from '../cli-context.js'
import { cliError } from '../errors.js'
import { exitCodes } from '../exit-code.js'
import { outputOption, toJson } from '../output/format.js'
import { parseCallee, parseCaller, parseHeader, parseMethod, parsePath, type NamedThing } from '../policy-question.js'
import { toText, type CommandHost } from './cli-command.js'
import { meshFolder } from './run-options.js'
import { meshOf, stateOption, type StateFlags } from './state-option.js'

interface CanFlags extends StateFlags {
  readonly folder?: string
  readonly header?: Readonly<Record<string, string>>
  readonly output: string
}

/** `osm policy can <from> <to> [method] [path]` */
export function addPolicyCan(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('can')
    .description('tell whether a request would be allowed, and which rule decides')
    .argument('<from>', 'who calls: <namespace>/<service account> or <namespace>/<workload>', parseCaller)
    .argument('<to>', 'what is called: <namespace>/<service>, or <namespace>/<service>:<port>', parseCallee)
    .argument('[method]', 'HTTP method; of no account for TCP', parseMethod, 'GET')
    .argument('[path]', 'path of the request; of no account for TCP', parsePath, '/')
    .option('-f, --folder <folder>', 'folder of YAML to ask (default: that of the running mesh)')
    .addOption(stateOption())
    .option('-H, --header <header>', "a header of the request, as 'name: value'; may be given again", parseHeader)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Nothing is sent: the answer comes from the policy in the folder. The exit code is 0 if the request is allowed, 1 if not.

Examples:
  osm policy can bookbuyer/bookbuyer bookstore/bookstore GET /buy-a-book/new -f examples/bookstore/mesh
  osm policy can bookthief/bookthief bookwarehouse/bookwarehouse:14001 POST /restock-books`,
    )
    .action(
      async (from: NamedThing, to: ReturnType<typeof parseCallee>, method: string, path: string, flags: CanFlags) => {
        const { loadFolder, standaloneNaming } = await import('../spec/load-folder.js')
        const folder =
          flags.folder === undefined
            ? resolve(meshOf(context, flags).folder)
            : meshFolder(context.cwd, flags.folder).folder
        const { renderDecision } = await import('../spec/render-decision.js')
        const loaded = await loadFolder(folder, standaloneNaming, context.signal)
        const caller = accountOf(loaded.snapshot, from)
        const { port, ...service } = to
        const headers = flags.header ?? {}
        const decision = loaded.catalog.decide({
          from: caller,
          to: service,
          method,
          path,
          headers,
          ...(port !== undefined && { port }),
        })
        const color = wantsColor(context.stdout, context.variables)
        const text =
          flags.output === 'json'
            ? toJson(decision)
            : toText(renderDecision(decision, loaded, { cwd: context.cwd, color }))
        context.stdout.write(text)
        onExit(decision.allowed ? exitCodes.ok : exitCodes.problem)
      },
    )
}

/** The service account that a name stands for: its own, or that of the workload of this name. */
function accountOf(snapshot: Snapshot, { namespace, name }: NamedThing): ServiceAccountRef {
  if (snapshot.get('ServiceAccount', namespace, name) !== undefined) return { namespace, name }
  const workload = snapshot.get('Workload', namespace, name)
  if (workload !== undefined) return { namespace, name: workload.spec.serviceAccountName }
  const known = snapshot.list('ServiceAccount').map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  throw cliError(
    'OSM_CLI_NOT_FOUND',
    `there is no service account and no workload ${namespace}/${name}`,
    known.length === 0 ? 'the folder has no service accounts' : `service accounts are ${known.join(', ')}`,
  )
}
