import { connect as connectTls } from 'node:tls'

import type { Credential } from '@osm-ts/driver-api'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { perform } from '../../actor/calls.js'
import type { CallAnswer } from '../../actor/protocol.js'
import type { LocalScenarioRunner } from '../../scenarios/local/local-scenario-runner.js'
import type { ProgramMesh } from '../../scenarios/local/program-mesh.js'
import { workloadAuthority } from '../../scenarios/local/workload-authority.js'
import { verify } from '../../scenarios/verify.js'
import { type Check, expect, Violation } from '../check.js'
import { allow, answered, change, denied, faultMesh, urls } from './fault-mesh.js'
import { needsOfLevel1, TIME_LIMIT_MS } from './scenario-checks.js'
import { makeCall } from '../../scenarios/make-call.js'
import type { ScenarioRunner } from '../../scenarios/scenario-runner.js'
import { type LoadOptions, whileSending } from '../load.js'

/** Where faults happen. */
export interface FaultFixture {
  readonly runner: LocalScenarioRunner
  /** The mesh that the runner has now. @throws if it has none */
  readonly mesh: () => ProgramMesh
}

const RECOVERY_MS = 60_000
const ROTATION_MS = 60_000
const HANDSHAKE_MS = 10_000
const PRINCIPAL = 'client.faults.cluster.local'
const SERVER_NAME = 'server.faults.svc.cluster.local'
const DAY_MS = 24 * 60 * 60 * 1000

const client = { from: 'faults/client', url: urls.server, outcome: 'answered' } as const
const bystander = { from: 'faults/bystander', url: urls.other, outcome: 'answered' } as const
const thief = { from: 'faults/thief', url: urls.server, outcome: 'refused' } as const

/** What a mesh has to survive, and what no one may get out of it meanwhile. */
export function faultChecks(fixture: FaultFixture): readonly Check[] {
  const { runner } = fixture
  const check = (name: string, proves: string, prove: () => Promise<void>): Check => ({
    id: `fault.${name}`,
    proves,
    needs: needsOfLevel1(runner.mode),
    timeoutMs: TIME_LIMIT_MS,
    prove: async () => {
      try {
        await runner.observed(name, prove)
      } catch (error) {
        await runner.reset()
        throw error
      }
    },
  })
  return [
    check(
      'proxy-killed',
      'a proxy that is killed comes back, on either side of a call, with its policy; others notice nothing, and no one gets in meanwhile',
      () => proxyKilled(fixture),
    ),
    check(
      'controller-killed',
      'while the controller is killed and comes back every request is answered that may be, and afterwards changes are applied',
      () => controllerKilled(fixture),
    ),
    check('certificate-rotation', 'service certificates are replaced twice under load, and no request is lost', () =>
      certificateRotation(fixture),
    ),
    check(
      'clock-skew',
      'a certificate that is not valid yet, or not any more, by the clock of the proxy opens nothing',
      () => clockSkew(fixture),
    ),
  ]
}

async function proxyKilled({ runner, mesh }: FaultFixture): Promise<void> {
  await begin(runner)
  await underLoad(runner, [bystander, thief], async () => {
    for (const side of ['faults/server', 'faults/client']) {
      const killed = kill(mesh().sidecarPid(side), `the sidecar of ${side}`)
      await eventually(
        () => mesh().sidecarPid(side),
        (pid) => pid !== undefined && pid !== killed,
        { what: `another sidecar of ${side}`, timeoutMs: RECOVERY_MS },
      )
      await eventually(
        () => makesItThrough(runner),
        (through) => through,
        { what: `an answer after the sidecar of ${side} was killed`, timeoutMs: RECOVERY_MS, everyMs: 100 },
      )
      await verify(denied(thief.from, thief.url), runner)
    }
  })
}

async function controllerKilled({ runner, mesh }: FaultFixture): Promise<void> {
  await begin(runner)
  await underLoad(runner, [client, bystander], async () => {
    await underLoad(runner, [thief], async () => {
      const killed = kill(mesh().controllerPid, 'the controller')
      await eventually(
        () => mesh().controllerPid,
        (pid) => pid !== undefined && pid !== killed,
        { what: 'another controller', timeoutMs: RECOVERY_MS },
      )
      await eventually(
        () =>
          mesh()
            .debug('/debug/status')
            .then(
              () => true,
              () => false,
            ),
        (answers) => answers,
        { what: 'an answer of the new controller', timeoutMs: RECOVERY_MS },
      )
    })
    await runner.change(change('the thief may call', { apply: [allow('thief', 'server')] }))
    await verify(answered(thief.from, thief.url), runner)
  })
  await runner.change(change('the client may not call any more', { remove: ['TrafficTarget faults/client-to-server'] }))
  await verify(denied(client.from, client.url), runner)
}

async function certificateRotation(fixture: FaultFixture): Promise<void> {
  const { runner } = fixture
  // Those that are there already live for a day.
  await runner.reset()
  // They are replaced between half and three quarters of their life: what is left is what a busy machine may take.
  await begin(runner, { certificate: { serviceCertValidityDuration: '20s', certKeyBitSize: 2048 } })
  await underLoad(runner, [client, bystander, thief], async () => {
    let serial = await servedSerial(fixture)
    for (let times = 0; times < 2; times += 1)
      serial = await eventually(
        () => servedSerial(fixture),
        (another) => another !== serial,
        { what: 'that the server shows another certificate', timeoutMs: ROTATION_MS, everyMs: 250 },
      )
  })
  await runner.reset()
}

async function clockSkew(fixture: FaultFixture): Promise<void> {
  const { runner, mesh } = fixture
  await begin(runner)
  const call = (from: number, to: number) => callServer(fixture, certificateOf(mesh(), from, to))
  await eventually(
    () => call(-1, 1),
    ({ status }) => status === 200,
    { what: 'an answer for a valid certificate' },
  )
  for (const [what, from, to] of [
    ['is valid from tomorrow on', 1, 2],
    ['was valid until yesterday', -2, -1],
  ] as const) {
    const { status } = await call(from, to)
    expect(status !== 200, `who shows a certificate that ${what} is answered`)
  }
  await verify(answered(client.from, client.url), runner)
}

async function begin(runner: LocalScenarioRunner, mesh: Parameters<typeof faultMesh>[1] = {}): Promise<void> {
  await runner.begin(faultMesh('faults', mesh))
  for (const { from, url } of [client, bystander]) await verify(answered(from, url), runner)
  await verify(denied(thief.from, thief.url), runner)
}

async function makesItThrough(runner: LocalScenarioRunner): Promise<boolean> {
  return verify({ ...answered(client.from, client.url), once: true }, runner).then(
    () => true,
    () => false,
  )
}

function kill(pid: number | undefined, what: string): number {
  if (pid === undefined) throw new Violation(`${what} does not run`)
  process.kill(pid, 'SIGKILL')
  return pid
}

/** A certificate of the client, as the mesh issues them, that is valid between two days from now. */
function certificateOf(mesh: ProgramMesh, from: number, to: number): Credential {
  const day = (days: number): Date => new Date(Date.now() + days * DAY_MS)
  return workloadAuthority(mesh.stateFolder).issue(PRINCIPAL, {
    dns: [PRINCIPAL],
    uris: ['spiffe://cluster.local/client/faults'],
    notBefore: day(from),
    notAfter: day(to),
  })
}

/** Calls the server past the sidecar of the client. */
async function callServer({ runner }: FaultFixture, certificate: Credential): Promise<CallAnswer> {
  return perform({
    kind: 'http',
    method: 'GET',
    scheme: 'http',
    authority: 'server.faults:8080',
    path: '/',
    version: '1.1',
    headers: {},
    target: await runner.inbound('faults/server', '8080'),
    tls: { serverName: SERVER_NAME, alpn: ['osm'], certificate },
  })
}

/** Serial number of the certificate that the sidecar of the server shows. */
async function servedSerial({ runner, mesh }: FaultFixture): Promise<string> {
  const { chain, privateKey } = certificateOf(mesh(), -1, 1)
  const { host, port } = await runner.inbound('faults/server', '8080')
  return new Promise((resolve, reject) => {
    const socket = connectTls(
      {
        host,
        port,
        servername: SERVER_NAME,
        ALPNProtocols: ['osm'],
        cert: chain,
        key: privateKey,
        // It is only looked at.
        rejectUnauthorized: false,
      },
      () => {
        resolve(socket.getPeerCertificate().serialNumber)
        socket.destroy()
      },
    )
    socket.setTimeout(HANDSHAKE_MS, () => socket.destroy(new Error('the sidecar of the server does not answer')))
    socket.on('error', reject)
  })
}

/** Does the work while workloads of a runner send requests. @throws Violation if one request had another outcome than it must have */
async function underLoad(
  runner: ScenarioRunner,
  loads: readonly LoadOptions[],
  work: () => Promise<void>,
): Promise<void> {
  const sending = loads.map(async (load) => {
    const { from, url } = load
    const call = makeCall({ kind: 'http', from, http: `GET ${url}` }, await runner.routes(from), undefined)
    return { ...load, ask: () => runner.call(from, call) }
  })
  await whileSending(await Promise.all(sending), work)
}
