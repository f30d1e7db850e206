import { get } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

import { type ControllerContext, driverKey, type HealthProbe, type HealthProbes } from '@osm-ts/driver-api'
import { hostContracts, isContractRange, negotiateContract } from '@osm-ts/driver-api/host'

import { FakeHost } from '../fake-host.js'
import { expect, type Subject } from './check.js'

/** Of a subject that says nothing else. */
const SETTLE_MS = 5_000
const PERIOD_MS = 20

/** A proxy control plane that runs. */
export interface Running {
  readonly host: FakeHost
  readonly port: number
  readonly probes: HealthProbes
  readonly stopped: Promise<void>
}

/** A host for that driver. */
export function hostOf({ driver }: Subject): FakeHost {
  return new FakeHost(driverKey(driver.name))
}

/** Starts the driver on a free port, does something with it, and ends it in any case. */
export async function whileRunning(
  subject: Subject,
  work: (running: Running) => Promise<void>,
  port?: number,
): Promise<void> {
  const host = hostOf(subject)
  const proxyServerPort = port ?? (await freePort())
  try {
    const { probes, stopped } = await subject.driver.start(contextOf(subject, host, { proxyServerPort }))
    await work({ host, port: proxyServerPort, probes, stopped })
    expect(host.cancelled.length === 0, `the driver has called cancel: ${host.cancelled[0]?.message ?? ''}`)
  } finally {
    host.stop()
    await settles(subject, async () => !(await isTaken(proxyServerPort)))
  }
}

/** Contract version in use; the kit's newest if there is no common one, which check contract.version reports. */
export function contractOf({ driver: { contract } }: Subject): number {
  return (isContractRange(contract) ? negotiateContract(contract) : undefined) ?? hostContracts.max
}

/** What `start` is called with. */
export function contextOf(subject: Subject, host: FakeHost, changes: Partial<ControllerContext>): ControllerContext {
  return host.context({ contract: contractOf(subject), driverConfig: subject.config, ...changes })
}

/** A port of the loopback address that no one listens on. */
export async function freePort(): Promise<number> {
  const { port, close } = await takenPort()
  await close()
  return port
}

/** A port that somebody else listens on. */
export async function takenPort(): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { port, close: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

/** True if somebody listens on that port. */
export function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Asks until it is so, for a while. */
export async function settles(
  { settleMs = SETTLE_MS }: Subject,
  isSo: () => boolean | Promise<boolean>,
): Promise<boolean> {
  const end = performance.now() + settleMs
  while (!(await isSo())) {
    if (performance.now() > end) return false
    await delay(PERIOD_MS)
  }
  return true
}

/** Asks every probe once; a probe that is not answered as the host wants it is a violation. */
export async function expectHealthy(probes: HealthProbes): Promise<void> {
  for (const [name, probe] of Object.entries(probes) as [string, HealthProbe][])
    expect(
      await isHealthy(probe),
      `the ${name} probe (${probe.tcpSocket ? 'TCP' : probe.path}, port ${probe.port}) fails`,
    )
}

/** Asks one probe. No connection outlives the answer. */
function isHealthy({ http, path, port, timeoutMs }: HealthProbe): Promise<boolean> {
  if (!http) return isTaken(port)
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path, agent: false, timeout: timeoutMs }, (response) => {
      response.resume()
      response.once('end', () => resolve((response.statusCode ?? 500) < 400))
      response.once('error', () => resolve(false))
    })
    request.once('timeout', () => request.destroy(new Error('timeout')))
    request.once('error', () => resolve(false))
  })
}

/** What keeps the process alive, counted by kind. */
export function openResources(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** Kinds of which there are more than before, with how many. */
export function leftOver(before: ReadonlyMap<string, number>): readonly string[] {
  return [...openResources()]
    .filter(([kind, count]) => !PASSING.has(kind) && count > (before.get(kind) ?? 0))
    .map(([kind, count]) => `${count - (before.get(kind) ?? 0)} ${kind}`)
}

/** Work that ends by itself. */
const PASSING: ReadonlySet<string> = new Set(['Immediate', 'TickObject', 'CloseReq', 'FSReqCallback', 'FSReqPromise'])
