import { resolve } from 'node:path'

import type { Command } from 'commander'
import type { OsmError, ServiceAccountRef } from '@osm-ts/driver-api'
import type { Snapshot } from '@osm-ts/core'
import type { HttpRequest, OutsideCaller } from '@osm-ts/oracle'

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
  type CalledHost,
  type CalledService,
  type Callee,
  type Caller,
  type NamedThing,
} from '../policy-question.js'
import type { Boundary, BoundaryAnswer } from '../spec/boundary.js'
import type { AnswerStyle } from '../spec/render-answer.js'
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

interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

interface Shown {
  readonly json: unknown
  readonly allowed: boolean
  readonly lines: (style: AnswerStyle) => readonly string[]
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
      const answer = await ask(loaded, from, to, flags, { method, path, headers: flags.header ?? {} })
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

/** The answer to what the command line asks; else what is wrong with the question. */
async function ask(
  loaded: UnderstoodMesh,
  from: Caller,
  to: Callee,
  flags: CanFlags,
  request: Request,
): Promise<Shown | string> {
  const { principal = [], sni } = flags
  if (from.kind === 'workload') {
    if (principal.length > 0 || sni !== undefined) return '--principal and --sni are for callers outside the mesh'
    return to.kind === 'service' ? askInside(loaded, from, to, request) : askHost(loaded, from, to, request)
  }
  if (to.kind === 'outside') return 'callers outside the mesh are asked about services: write <namespace>/<service>'
  if (from.kind === 'service' && loaded.snapshot.get('Service', from.namespace, from.name) === undefined)
    throw notFound(loaded.snapshot, 'Service', from, { wanted: 'Service', known: 'Services' })
  const caller: OutsideCaller = {
    ...(from.kind === 'address' && { address: from.address }),
    ...(from.kind === 'service' && { service: { namespace: from.namespace, name: from.name } }),
    principals: [...(from.kind === 'principal' ? [from.name] : []), ...principal],
    ...(sni !== undefined && { serverName: sni }),
  }
  return showBoundary((await boundaryOf(loaded)).askOutside(caller, to, httpRequest(request)))
}

async function askInside(
  loaded: UnderstoodMesh,
  from: NamedThing,
  { namespace, name, port }: CalledService,
  request: Request,
): Promise<Shown> {
  const { renderDecision } = await import('../spec/render-decision.js')
  const decision = loaded.catalog.decide({
    from: accountOf(loaded.snapshot, from),
    to: { namespace, name },
    ...request,
    ...(port !== undefined && { port }),
  })
  return { json: decision, allowed: decision.allowed, lines: (style) => renderDecision(decision, loaded, style) }
}

/** A host is outside the mesh if it is not the name of a service. */
async function askHost(loaded: UnderstoodMesh, from: NamedThing, to: CalledHost, request: Request): Promise<Shown> {
  const boundary = await boundaryOf(loaded)
  const service = boundary.serviceNamed(to.host, from.namespace)
  if (service !== undefined)
    return askInside(loaded, from, { ...service, ...(to.port !== undefined && { port: to.port }) }, request)
  return showBoundary(boundary.askEgress(accountOf(loaded.snapshot, from), to, httpRequest(request)))
}

async function boundaryOf(loaded: UnderstoodMesh): Promise<Boundary> {
  const { Boundary } = await import('../spec/boundary.js')
  return new Boundary(loaded)
}

async function showBoundary(answer: BoundaryAnswer): Promise<Shown> {
  const { renderBoundary } = await import('../spec/render-boundary.js')
  return { json: answer, allowed: answer.allowed, lines: (style) => renderBoundary(answer, style) }
}

function httpRequest({ method, path, headers }: Request): HttpRequest {
  return { method, target: path, headers }
}

/** The service account that a name stands for: its own, or that of the workload of this name. */
function accountOf(snapshot: Snapshot, named: NamedThing): ServiceAccountRef {
  const { namespace, name } = named
  if (snapshot.get('ServiceAccount', namespace, name) !== undefined) return { namespace, name }
  const workload = snapshot.get('Workload', namespace, name)
  if (workload !== undefined) return { namespace, name: workload.spec.serviceAccountName }
  throw notFound(snapshot, 'ServiceAccount', named, {
    wanted: 'service account and no workload',
    known: 'service accounts',
  })
}

/** The error about a name that stands for nothing, with the names that stand for something. */
function notFound(
  snapshot: Snapshot,
  kind: 'Service' | 'ServiceAccount',
  { namespace, name }: NamedThing,
  words: { readonly wanted: string; readonly known: string },
): OsmError {
  const known = snapshot.list(kind).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  return cliError(
    'OSM_CLI_NOT_FOUND',
    `there is no ${words.wanted} ${namespace}/${name}`,
    known.length === 0 ? `the folder has no ${words.known}` : `${words.known} are ${known.join(', ')}`,
  )
}
