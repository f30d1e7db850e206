import { testAuthority } from '@osm-ts/driver-testkit'
import { perform } from '../../actor/perform.js'
import type { CallAnswer, CallTls, Target } from '../../actor/protocol.js'
import { issueNames } from '../authority.js'
import type { Expectation, ExpectationOf, ScenarioClient } from './format.js'
import { instanceSpec } from './instance-spec.js'
import { fits, judge } from './judge.js'
import { type Routes, type Sending, makeCall, workloadRoutes } from './make-call.js'
import type { Session } from './session.js'

const TIME_LIMIT_MS = 20_000
const PAUSE_MS = 100

/** Tries an expectation until it holds; throws with what was wrong the last time if that takes too long. */
export async function verify(expectation: Expectation, session: Session): Promise<void> {
  const filled = JSON.parse(session.located(JSON.stringify(session.outside.fill(expectation)))) as Expectation
  const deadline = performance.now() + TIME_LIMIT_MS
  for (;;) {
    // What is not there yet may come: an error is an answer like others until the time is over.
    const faults = await faultsOf(filled, session).catch((error: unknown) => [String(error)])
    if (faults.length === 0) return
    if (filled.once === true || performance.now() > deadline)
      throw new Error(`${describe(filled)}\n  ${faults.join('\n  ')}`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

/** An expectation in the words of its file. */
function describe({ kind: _kind, ...expectation }: Expectation): string {
  return JSON.stringify(expectation)
}

async function faultsOf(expectation: Expectation, session: Session): Promise<readonly string[]> {
  if (expectation.kind === 'stats') return statsFaults(expectation, session)
  if (expectation.kind === 'problem') return problemFaults(expectation, session)
  return judge(expectation, await answersTo(expectation, session))
}

async function answersTo(expectation: Sending, session: Session): Promise<readonly CallAnswer[]> {
  const send = expectation.from.startsWith('outside/')
    ? await outsideSender(expectation, session)
    : () => workloadSender(expectation, session)
  const times = 'times' in expectation ? (expectation.times ?? 1) : 1
  const parallel = 'parallel' in expectation ? (expectation.parallel ?? 10) : 10
  const answers: CallAnswer[] = []
  let sent = 0
  await Promise.all(
    Array.from({ length: Math.min(parallel, times) }, async () => {
      while (sent < times) {
        sent += 1
        answers.push(await send())
      }
    }),
  )
  return answers
}

async function workloadSender(expectation: Sending, session: Session): Promise<CallAnswer> {
  const routes = await workloadRoutes(session.mesh, expectation.from, session.mode)
  const tls = 'tls' in expectation && expectation.tls ? {} : undefined
  return session.actors.call(expectation.from, makeCall(expectation, routes, tls))
}

async function outsideSender(expectation: Sending, session: Session): Promise<() => Promise<CallAnswer>> {
  const client = session.outside.client(expectation.from.slice('outside/'.length))
  const at = 'at' in expectation ? expectation.at : undefined
  if (at === undefined && expectation.kind !== 'kept')
    throw new Error(
      `${describe(expectation)}: a client outside the mesh needs "at", the workload and port that it connects to`,
    )
  const target: Target = {
    ...(await inboundAddress(at ?? '', session)),
    ...(client.source === undefined ? {} : { source: client.source }),
  }
  const routes: Routes = { http: () => target, tcp: () => target }
  const call = makeCall(expectation, routes, await clientTls(client, session))
  return () => perform(call, session.outside.connections)
}

async function clientTls(client: ScenarioClient, session: Session): Promise<CallTls | undefined> {
  const { certificate, serverName } = client
  if (client.tls !== true && certificate === undefined) return undefined
  const base = serverName === undefined ? {} : { serverName }
  if (certificate === undefined) return base
  const { issuer, commonName, names = [commonName] } = certificate
  if (issuer === 'mesh')
    return { ...base, certificate: await issueNames(session.mesh.stateFolder, { commonName, dnsNames: names }) }
  const { chain, privateKey } = testAuthority('an authority that the mesh does not know').issue(commonName, {
    dns: names,
  })
  return { ...base, certificate: { chain, privateKey } }
}

/** Where the sidecar of a workload accepts connections for a port. */
async function inboundAddress(at: string, session: Session): Promise<Target> {
  const [, workload = '', port = ''] = /^(.*):([0-9]+)$/.exec(at) ?? []
  const { addresses, allocations } = await instanceSpec(session.mesh, workload)
  if (session.mode === 'transparent') return { host: addresses[0] ?? '', port: Number(port) }
  const { ingress = {}, inbound = {} } = allocations ?? {}
  const listeners = [...Object.entries(ingress), ...Object.entries(inbound)]
  const [, address] = listeners.find(([key]) => key.endsWith(`|${port}`)) ?? []
  if (address === undefined) throw new Error(`no sidecar of ${workload} listens for port ${port}`)
  return { host: address.address, port: address.port }
}

async function statsFaults({ stats, values }: ExpectationOf<'stats'>, session: Session): Promise<readonly string[]> {
  const { admin } = session.mesh.instance(stats)
  // The administration interface listens on the loopback address of the workload, which is not ours in transparent mode.
  const target = { host: admin?.address ?? '127.0.0.1', port: admin?.port ?? 15_000 }
  const { body = '', error } = await session.actors.call(stats, {
    kind: 'http',
    method: 'GET',
    scheme: 'http',
    authority: 'admin',
    path: '/stats',
    version: '1.1',
    headers: {},
    target,
  })
  if (error !== undefined) return [`the sidecar of ${stats} gives no statistics: ${error}`]
  const found = new Map(
    [...body.matchAll(/^(.+): ([0-9]+)$/gm)].map(([, key = '', value = '']) => [key, Number(value)] as const),
  )
  return Object.entries(values).flatMap(([key, count]) =>
    fits(count, found.get(key) ?? 0)
      ? []
      : [`${key} is ${found.get(key) ?? 'not there'} instead of ${JSON.stringify(count)}`],
  )
}

async function problemFaults(
  { problem, object, field, absent }: ExpectationOf<'problem'>,
  session: Session,
): Promise<readonly string[]> {
  const problems = await session.mesh.problems()
  const named = problems.filter(
    (each) =>
      each.code === problem &&
      (object === undefined ||
        `${each.object?.kind ?? ''} ${each.object?.namespace ?? ''}/${each.object?.name ?? ''}` === object) &&
      (field === undefined || each.field === field),
  )
  if (named.length > 0 === (absent !== true)) return []
  return [
    absent === true
      ? 'there is such a problem'
      : `there are ${JSON.stringify(problems.map(({ code, object: of, field: at }) => [code, of, at]))}`,
  ]
}
