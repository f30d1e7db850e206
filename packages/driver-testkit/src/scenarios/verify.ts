import type { RequiredFeature } from '@osm-ts/driver-api/host'
import { testAuthority } from '../test-certificates.js'
import type { CallAnswer, CallTls, Target } from '../actor/protocol.js'
import type { Expectation, ExpectationOf, ScenarioClient, ScenarioStep } from './format.js'
import { fits, judge } from './judge.js'
import { type Routes, type Sending, makeCall } from './make-call.js'
import type { ScenarioRunner } from './scenario-runner.js'

const TIME_LIMIT_MS = 20_000
const PAUSE_MS = 100

/** Tries an expectation until it holds; throws with what was wrong the last time if that takes too long. */
export async function verify(expectation: Expectation, runner: ScenarioRunner): Promise<void> {
  const filled = await runner.fill(expectation)
  const deadline = performance.now() + TIME_LIMIT_MS
  for (;;) {
    // What is not there yet may come: an error is an answer like others until the time is over.
    const faults = await faultsOf(filled, runner).catch((error: unknown) => [String(error)])
    if (faults.length === 0) return
    if (filled.once === true || performance.now() > deadline)
      throw new Error(`${describe(filled)}\n  ${faults.join('\n  ')}`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

/**
 * Makes the changes of a scenario, one after the other, until a feature is reported that some object of it needs and the sidecars lack.
 * Throws if none reports it: it would be dropped without a word.
 */
export async function untilReported(
  feature: RequiredFeature,
  steps: readonly ScenarioStep[],
  runner: ScenarioRunner,
): Promise<void> {
  for (const step of [undefined, ...steps]) {
    if (step !== undefined) await runner.change(step)
    const problems = await runner.problems()
    if (problems.some(({ code, message }) => code === 'OSM_ADMISSION_CAPABILITY' && message.includes(`(${feature})`)))
      return
  }
  throw new Error(`no object of the scenario is reported for want of ${feature}`)
}

/** An expectation in the words of its file. */
function describe({ kind: _kind, ...expectation }: Expectation): string {
  return JSON.stringify(expectation)
}

async function faultsOf(expectation: Expectation, runner: ScenarioRunner): Promise<readonly string[]> {
  if (expectation.kind === 'stats') return statsFaults(expectation, runner)
  if (expectation.kind === 'problem') return problemFaults(expectation, runner)
  return judge(expectation, await answersTo(expectation, runner))
}

async function answersTo(expectation: Sending, runner: ScenarioRunner): Promise<readonly CallAnswer[]> {
  const send = expectation.from.startsWith('outside/')
    ? await outsideSender(expectation, runner)
    : () => workloadSender(expectation, runner)
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

async function workloadSender(expectation: Sending, runner: ScenarioRunner): Promise<CallAnswer> {
  const routes = await runner.routes(expectation.from)
  const tls = 'tls' in expectation && expectation.tls ? {} : undefined
  return runner.call(expectation.from, makeCall(expectation, routes, tls))
}

async function outsideSender(expectation: Sending, runner: ScenarioRunner): Promise<() => Promise<CallAnswer>> {
  const client = runner.client(expectation.from.slice('outside/'.length))
  const at = 'at' in expectation ? expectation.at : undefined
  if (at === undefined && expectation.kind !== 'kept')
    throw new Error(
      `${describe(expectation)}: a client outside the mesh needs "at", the workload and port that it connects to`,
    )
  const [, workload = '', port = ''] = /^(.*):([0-9]+)$/.exec(at ?? '') ?? []
  const target: Target = {
    ...(await runner.inbound(workload, port)),
    ...(client.source === undefined ? {} : { source: client.source }),
  }
  const routes: Routes = { http: () => target, tcp: () => target }
  const call = makeCall(expectation, routes, await clientTls(client, runner))
  return () => runner.callFromOutside(call)
}

async function clientTls(client: ScenarioClient, runner: ScenarioRunner): Promise<CallTls | undefined> {
  const { certificate, serverName } = client
  if (client.tls !== true && certificate === undefined) return undefined
  const base = serverName === undefined ? {} : { serverName }
  if (certificate === undefined) return base
  const { issuer, commonName, names = [commonName] } = certificate
  if (issuer === 'mesh') return { ...base, certificate: await runner.issue({ commonName, dnsNames: names }) }
  const { chain, privateKey } = testAuthority('an authority that the mesh does not know').issue(commonName, {
    dns: names,
  })
  return { ...base, certificate: { chain, privateKey } }
}

async function statsFaults(
  { stats, values }: ExpectationOf<'stats'>,
  runner: ScenarioRunner,
): Promise<readonly string[]> {
  const { body = '', error } = await runner.call(stats, {
    kind: 'http',
    method: 'GET',
    scheme: 'http',
    authority: 'admin',
    path: '/stats',
    version: '1.1',
    headers: {},
    target: runner.admin(stats),
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
  runner: ScenarioRunner,
): Promise<readonly string[]> {
  const problems = await runner.problems()
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
