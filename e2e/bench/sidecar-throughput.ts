import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

import { endProcess } from '../api/harness/child-program.js'
import type { TestMesh } from '../dataplane/support/mesh.js'

import { startPlainPipys } from './plain-pipys.js'
import type { Address } from './plain-processes.js'
import { cpuSecondsOf } from './scale/process-figures.js'
import { applicationOf, AUTHORITY, type MeshPrograms, proxyAddress, startOneServerMesh } from './sidecar-mesh.js'
import { round } from './statistics.js'

/** Requests through a pair of sidecars of class pipy, beside a pair of class envoy under the same YAML and a pair of Pipys without policy. In turns, in one run. */
export interface SidecarThroughput {
  readonly connections: number
  readonly envoy: Throughput
  readonly pipy: Throughput
  /** Two Pipys with mutual TLS between them and nothing else. */
  readonly plainPipys: Throughput
  /** Requests in a second, divided by those of `envoy`. */
  readonly ratio: { readonly pipy: number; readonly plainPipys: number }
}

interface Throughput {
  /** Of a turn, or the median of all. */
  readonly perSecond: number
  /** Processor time of both sidecars for one request, in microseconds. Other work on the machine counts little in it. */
  readonly cpuMicroseconds: number
  /** Requests without an answer of status 200, of all turns. */
  readonly lost: number
}

/** What is measured. */
export interface SidecarThroughputOptions extends MeshPrograms {
  readonly pipy: string
  readonly server: string
  readonly idle: string
  /** Bundle of sidecar-throughput-load-main.ts. */
  readonly loadProgram: string
  readonly connections: readonly number[]
  readonly turns: number
  readonly warmUpMs: number
  readonly turnMs: number
}

/** What the load is told. */
export interface ThroughputLoad {
  readonly at: Address
  readonly bytes: string
  readonly connections: number
  readonly warmUpMs: number
  readonly ms: number
}

/** What came of it; `why` is of the first request that was lost. */
export interface ThroughputCount {
  readonly requests: number
  readonly seconds: number
  readonly lost: number
  readonly why: string
}

interface Pair {
  readonly at: Address
  readonly pids: readonly number[]
}

const REQUEST = `GET http://${AUTHORITY}/books/1 HTTP/1.1\r\nhost: ${AUTHORITY}\r\nuser-agent: bench\r\naccept: */*\r\n\r\n`

/** Measures {@link SidecarThroughput} for each number of connections. */
export async function measureSidecarThroughput(
  options: SidecarThroughputOptions,
): Promise<readonly SidecarThroughput[]> {
  const stops: (() => Promise<void>)[] = []
  try {
    const envoy = await startOneServerMesh({ ...options, sidecarClass: 'envoy' })
    stops.push(() => envoy.stop())
    const pipy = await startOneServerMesh({ ...options, sidecarClass: 'pipy' })
    stops.push(() => pipy.stop())
    const folder = join(pipy.stateFolder, 'plain')
    const plain = await startPlainPipys(options.pipy, folder, applicationOf(pipy))
    stops.push(plain.stop)
    const pairs = {
      envoy: pairOf(envoy),
      pipy: pairOf(pipy),
      plainPipys: { at: plain.client, pids: plain.pids },
    }
    const load = fork(options.loadProgram, { execArgv: [] })
    stops.push(() => endProcess(load, 'SIGKILL'))
    const results: SidecarThroughput[] = []
    for (const connections of options.connections) results.push(await compare(load, pairs, connections, options))
    return results
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

function pairOf(mesh: TestMesh): Pair {
  const pids = mesh.mesh.instances().flatMap(({ sidecarPid }) => (sidecarPid === undefined ? [] : [sidecarPid]))
  return { at: proxyAddress(mesh, 'bench/client'), pids }
}

async function compare(
  load: ChildProcess,
  pairs: Readonly<Record<'envoy' | 'pipy' | 'plainPipys', Pair>>,
  connections: number,
  { turns, warmUpMs, turnMs }: SidecarThroughputOptions,
): Promise<SidecarThroughput> {
  const names = ['envoy', 'pipy', 'plainPipys'] as const
  const seen = { envoy: [] as Throughput[], pipy: [] as Throughput[], plainPipys: [] as Throughput[] }
  for (let turn = 0; turn < turns; turn += 1)
    for (const name of names) {
      const { at, pids } = pairs[name]
      seen[name].push(await takeTurn(load, pids, { at, bytes: REQUEST, connections, warmUpMs, ms: turnMs }))
    }
  const [envoy, pipy, plainPipys] = [summary(seen.envoy), summary(seen.pipy), summary(seen.plainPipys)]
  const ratio = {
    pipy: round(pipy.perSecond / envoy.perSecond),
    plainPipys: round(plainPipys.perSecond / envoy.perSecond),
  }
  return { connections, envoy, pipy, plainPipys, ratio }
}

async function takeTurn(load: ChildProcess, pids: readonly number[], job: ThroughputLoad): Promise<Throughput> {
  const before = await cpuMs(pids)
  load.send(job)
  const ended = new AbortController()
  const exited = once(load, 'exit', { signal: ended.signal }).then(([code]) => {
    throw new Error(`the load ended with ${String(code)}`)
  })
  try {
    // The only message of sidecar-throughput-load-main.ts.
    const [message] = (await Promise.race([once(load, 'message'), exited])) as [ThroughputCount]
    const { requests, seconds, lost, why } = message
    if (requests === 0) throw new Error(`nothing was answered: ${why}`)
    const share = job.ms / (job.ms + job.warmUpMs)
    const spent = ((await cpuMs(pids)) - before) * share
    return { perSecond: requests / seconds, cpuMicroseconds: (spent * 1000) / requests, lost }
  } finally {
    exited.catch(() => undefined)
    ended.abort()
  }
}

function summary(turns: readonly Throughput[]): Throughput {
  const middle = (of: (turn: Throughput) => number): number =>
    round(turns.map(of).sort((a, b) => a - b)[Math.floor(turns.length / 2)] ?? Number.NaN)
  return {
    perSecond: middle(({ perSecond }) => perSecond),
    cpuMicroseconds: middle(({ cpuMicroseconds }) => cpuMicroseconds),
    lost: turns.reduce((sum, { lost }) => sum + lost, 0),
  }
}

/** Processor time of processes so far, in milliseconds. */
async function cpuMs(pids: readonly number[]): Promise<number> {
  const seconds = await Promise.all(pids.map(cpuSecondsOf))
  return seconds.reduce((sum, each) => sum + each, 0) * 1000
}
