import { resolve } from 'node:path'

import type { Command } from 'commander'
import type { ServiceAccountRef } from '@osm-ts/driver-api'
import type { Snapshot } from '@osm-ts/core'
import type { OutsideCaller } from '@osm-ts/oracle'

import { wantsColor } from '../cli-context.js'
import { cliError } from '../errors.js'
import { exitCodes } from '../exit-code.js'
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
  type NamedThing,
} from '../policy-question.js'
import type { UnderstoodMesh } from '../spec/understand-mesh.js'
import { toText, type CommandHost } from './cli-command.js'
import { meshFolder } from './run-options.js'
import { meshOf, stateOption, type StateFlags } from './state-option.js'

interface CanFlags extends StateFlags {
  readonly folder?: string
  readonly header?: Readonly<Record<string, string>>
  readonly principal?: readonly string[]
  readonly sni?: string
  readonly output: string
}

/** A caller and what is called, of which at most one is outside the mesh. */
type Question =
  | { readonly kind: 'inside'; readonly from: NamedThing; readonly to: NamedThing & { readonly port?: number } }
  | { readonly kind: 'egress'; readonly from: NamedThing; readonly to: Extract<Callee, { readonly kind: 'outside' }> }
  | {
      readonly kind: 'outside'
      readonly caller: OutsideCaller
      readonly to: NamedThing & { readonly port?: number }
    }

interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

interface Shown {
  readonly json: unknown
  readonly allowed: boolean
  readonly lines: (style: { readonly cwd: string; readonly color: boolean }) => readonly string[]
}

/** `osm policy can <from> <to> [method] [path]` */
export function addPolicyCan(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('can')
    .description('tell whether a request would be allowed, and which rule decides')
    .argument(
      '<from>',
      'who calls: <namespace>/<service account> or <namespace>/<workload>; from outside the mesh <IP address>, service:<namespace>/<service> or principal:<name>',
      parseCaller,
    )
    .argument(
      '<to>',
      'what is called: <namespace>/<service>, or <namespace>/<service>:<port>; outside the mesh <host> or <IP address>, with :<port> and http://, https:// or tcp:// where they matter',
      parseCallee,
    )
    .argument('[method]', 'HTTP method; of no account for TCP', parseMethod, 'GET')
    .argument('[path]', 'path of the request; of no account for TCP', parsePath, '/')
    .option('-f, --folder <folder>', 'folder of YAML to ask (default: that of the running mesh)')
    .addOption(stateOption())
    .option('-H, --header <header>', "a header of the request, as 'name: value'; may be given again", parseHeader)
    .option('--principal <name>', 'a name in the certificate of a caller outside; may be given again', addName)
    .option('--sni <name>', 'server name that a caller outside asks for over TLS', parseName)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Nothing is sent: the answer comes from the policy in the folder. The exit code is 0 if the request is allowed, 1 if not.

A destination outside without a protocol is asked for by HTTP, on port 443 by TLS, and then as any connection. Its port is 80, with https:// 443.
A caller outside speaks TLS where the service asks for it.

Examples:
  osm policy can bookbuyer/bookbuyer bookstore/bookstore GET /buy-a-book/new -f examples/bookstore/mesh
  osm policy can bookthief/bookthief bookwarehouse/bookwarehouse:14001 POST /restock-books
  osm policy can shop/buyer catalogue.example.com GET /books
  osm policy can shop/buyer https://pay.example.com
  osm policy can shop/buyer 198.51.100.7:3306
  osm policy can 203.0.113.9 shop/store GET /books
  osm policy can service:edge/gateway shop/store --principal gateway.example.com --sni store.example.com`,
    )
    .action(async (from: Caller, to: Callee, method: string, path: string, flags: CanFlags, command: Command) => {
      const { loadFolder, standaloneNaming } = await import('../spec/load-folder.js')
      const folder =
        flags.folder === undefined
          ? resolve(meshOf(context, flags).folder)
          : meshFolder(context.cwd, flags.folder).folder
      const loaded = await loadFolder(folder, standaloneNaming, context.signal)
      const question = questionOf(from, to, flags, loaded)
      if (typeof question === 'string') return command.error(`error: ${question}`)
      const { json, allowed, lines } = await ask(loaded, question, { method, path, headers: flags.header ?? {} })
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(flags.output === 'json' ? toJson(json) : toText(lines({ cwd: context.cwd, color })))
      onExit(allowed ? exitCodes.ok : exitCodes.problem)
    })
}

function addName(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, parseName(text)]
}

async function ask(loaded: UnderstoodMesh, question: Question, { method, path, headers }: Request): Promise<Shown> {
  if (question.kind === 'inside') {
    const { renderDecision } = await import('../spec/render-decision.js')
    const { port, ...service } = question.to
    const decision = loaded.catalog.decide({
      from: accountOf(loaded.snapshot, question.from),
      to: { namespace: service.namespace, name: service.name },
      method,
      path,
      headers,
      ...(port !== undefined && { port }),
    })
    return { json: decision, allowed: decision.allowed, lines: (style) => renderDecision(decision, loaded, style) }
  }
  const { askEgress, askOutside } = await import('../spec/ask-oracle.js')
  const { renderBoundary } = await import('../spec/render-boundary.js')
  const request = { method, target: path, headers }
  const answer =
    question.kind === 'egress'
      ? askEgress(loaded, accountOf(loaded.snapshot, question.from), question.to, request)
      : askOutside(loaded, question.caller, question.to, request)
  return { json: answer, allowed: answer.allowed, lines: (style) => renderBoundary(answer, style) }
}

/** The question that the command line asks; else what is wrong with it. */
function questionOf(
  from: Caller,
  to: Callee,
  flags: CanFlags,
  { oracle, snapshot }: UnderstoodMesh,
): Question | string {
  const { principal = [], sni } = flags
  if (from.kind === 'workload') {
    if (principal.length > 0 || sni !== undefined) return '--principal and --sni are for callers outside the mesh'
    if (to.kind === 'service') return { kind: 'inside', from, to }
    const named = oracle.serviceNamed(to.host, from.namespace)
    if (named === undefined) return { kind: 'egress', from, to }
    return { kind: 'inside', from, to: { ...named, ...(to.port !== undefined && { port: to.port }) } }
  }
  if (to.kind === 'outside') return 'callers outside the mesh are asked about services: write <namespace>/<service>'
  if (from.kind === 'service') mustExist(snapshot, from)
  const principals = [...(from.kind === 'principal' ? [from.name] : []), ...principal]
  const caller: OutsideCaller = {
    ...(from.kind === 'address' && { address: from.address }),
    ...(from.kind === 'service' && { service: { namespace: from.namespace, name: from.name } }),
    principals,
    ...(sni !== undefined && { serverName: sni }),
  }
  return { kind: 'outside', caller, to }
}

function mustExist(snapshot: Snapshot, { namespace, name }: NamedThing): void {
  if (snapshot.get('Service', namespace, name) !== undefined) return
  const known = snapshot.list('Service').map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  throw cliError(
    'OSM_CLI_NOT_FOUND',
    `there is no Service ${namespace}/${name}`,
    known.length === 0 ? 'the folder has no Services' : `Services are ${known.join(', ')}`,
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
