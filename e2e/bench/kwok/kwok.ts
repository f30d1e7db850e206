import { setMaxListeners } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { until } from '@osm-ts/driver-api/toolkit'

import { freePort } from '../../api/support/controller-process.js'
import { BaselineServer } from '../baseline-server.js'
import { ENDPOINTS } from '../references.js'
import { issueCertificates } from '../scale/certificates.js'
import { Controller, type ControllerOptions } from '../scale/controller.js'
import type { ScalePrograms } from '../scale/mesh-server.js'
import { callersOf, clusterName, podOf, scaleProxies, type ScaleSize, serviceOf } from '../scale/mesh.js'
import { cpuMsOf, cpuSecondsOf, residentMiBOf } from '../scale/process-figures.js'
import { Proxies } from '../scale/proxies.js'
import { step } from '../scale/scale-environment.js'
import { round, type Summary, summarize } from '../statistics.js'
import { KwokCluster, type KwokPrograms } from './kwok-cluster.js'

/** What is measured. */
export interface KwokOptions {
  readonly services: number
  /** Pods of each service. */
  readonly replicas: number
  /** Proxies that connect: those of the first pods. */
  readonly connected: number
  /** Starts of the controller that are measured, after one that makes the roots. */
  readonly starts: number
  /** Pods that are replaced in a minute, and for how long. */
  readonly perMinute: number
  readonly churnSeconds: number
  /** Restarts of the API server, and changes of the leader. */
  readonly rounds: number
  readonly programs: Pick<ScalePrograms, 'controller' | 'floor' | 'proxies' | 'profiles'> & KwokPrograms
}

/** What a controller takes for a while. */
interface Cost {
  /** Milliseconds of its processor time. */
  readonly cpuMs: number
  readonly residentMiB: number
  readonly longestBlockMs: number
  /** The same of a process that has nothing to do: programs of the cluster take the cores from both. */
  readonly longestBlockOfIdleMs: number
}

/** A controller in a cluster of kwok. */
export interface KwokFigures {
  readonly pods: number
  readonly services: number
  readonly connected: number
  /** From the start of the process until it is ready, and the memory that it then has. */
  readonly ready: { readonly ms: Summary; readonly cpuMs: Summary; readonly residentMiB: Summary }
  /** With all proxies connected, and nothing that changes, for ten seconds. */
  readonly idle: Cost & { readonly cores: number }
  readonly churn: Cost & { readonly cores: number; readonly replaced: number }
  /** The API server is killed and started. */
  readonly apiServerRestart: {
    /** Until the API server is ready. */
    readonly serverMs: Summary
    /** From then until callers have acknowledged a pod that was made since. */
    readonly changeMs: Summary
    /** What the controller took from the kill to that acknowledgement, on average. */
    readonly cost: Cost
    /** Bytes that proxies were sent that may not call the service of that pod. */
    readonly octetsToOthers: number
  }
  /** The leader is killed, while another controller is ready. */
  readonly leaderChange: {
    /** Until the other leads: the lease of the first has to expire. */
    readonly ms: Summary
    readonly cpuMs: Summary
  }
}

/** Its callers are the services before it, whose proxies are the first to connect. */
const CALLED = 5
const CONNECT_MS = 120_000
const CHANGE_MS = 120_000
const RETRIES = 100
const IDLE_MS = 10_000
const SETTLE_MS = 5000
const POLL_MS = 50

/** Measures osm-controller against a real API server with as many pods as a large cluster has. */
export async function measureKwok(options: KwokOptions): Promise<KwokFigures> {
  const { services, replicas, connected, programs } = options
  const end = new AbortController()
  setMaxListeners(0, end.signal)
  const folder = await mkdtemp(join(tmpdir(), 'osm-kwok-'))
  const cluster = await step('cluster', () => KwokCluster.start(programs, services * replicas, end.signal))
  try {
    const size = { services, replicas, hubs: [], permissive: false, connected }
    const port = await freePort()
    await step('mesh', () => cluster.createMesh(size, port))
    const pods = Array.from({ length: services * replicas }, (_, index) => podOf(size, index))
    await step(`${pods.length} pods`, () => cluster.createPods(pods))
    const start: ControllerOptions = {
      program: programs.controller,
      folder,
      kubeconfig: cluster.server.description.kubeconfigPath,
      profiles: programs.profiles,
    }
    const ready = await measureStarts(start, options.starts)
    const running = await Measurement.start({ cluster, options, size, port, start })
    try {
      return {
        pods: pods.length,
        services,
        connected,
        ready,
        idle: await step('idle', () => running.idle()),
        churn: await step('churn', () => running.churn()),
        apiServerRestart: await step('restarts of the API server', () => running.restarts(end.signal)),
        leaderChange: await step('changes of the leader', () => running.leaders()),
      }
    } finally {
      await running.close()
    }
  } catch (error) {
    throw new Error(`the cluster of kwok failed:\n${cluster.lastWords()}`, { cause: error })
  } finally {
    end.abort()
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function measureStarts(options: ControllerOptions, starts: number): Promise<KwokFigures['ready']> {
  // It makes the roots, and has the program read from the disk.
  await (await Controller.start(options)).controller.stop()
  const [ms, cpuMs, residentMiB]: [number[], number[], number[]] = [[], [], []]
  for (let n = 1; n <= starts; n += 1)
    await step(`start ${n}`, async () => {
      const { controller, ms: readyMs } = await Controller.start(options)
      try {
        ms.push(readyMs)
        cpuMs.push((await cpuSecondsOf(controller.pid)) * 1000)
        residentMiB.push(await residentMiBOf(controller.pid))
      } finally {
        await controller.stop()
      }
    })
  return { ms: summarize(ms), cpuMs: summarize(cpuMs), residentMiB: summarize(residentMiB) }
}

interface MeasurementParts {
  readonly cluster: KwokCluster
  readonly options: KwokOptions
  readonly size: ScaleSize
  readonly port: number
  readonly start: ControllerOptions
}

/** A controller with its proxies, in a cluster that changes. */
class Measurement {
  readonly #parts: MeasurementParts
  readonly #proxies: Proxies
  readonly #idle: BaselineServer
  #controller: Controller
  /** The number that the next pod has. */
  #nextPod: number

  private constructor(parts: MeasurementParts, controller: Controller, proxies: Proxies, idle: BaselineServer) {
    const { services, replicas } = parts.options
    this.#parts = parts
    this.#controller = controller
    this.#proxies = proxies
    this.#idle = idle
    this.#nextPod = services * replicas
  }

  static async start(parts: MeasurementParts): Promise<Measurement> {
    const { cluster, options, size, port } = parts
    const proxies = await Proxies.start(options.programs.proxies)
    const { controller } = await Controller.start(parts.start)
    const measurement = new Measurement(parts, controller, proxies, await BaselineServer.start(options.programs.floor))
    try {
      const certificates = await issueCertificates(cluster.api, scaleProxies(size), AbortSignal.timeout(120_000))
      const server = { port, serverName: certificates.serverName, roots: certificates.controlPlaneRoots }
      await step(`${options.connected} proxies`, () =>
        proxies.connect(server, certificates.proxies, CONNECT_MS, { retries: RETRIES }),
      )
      return measurement
    } catch (error) {
      await measurement.close()
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#proxies.close()
    await this.#controller.stop()
    await this.#idle.close()
  }

  async idle(): Promise<KwokFigures['idle']> {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    const { cost } = await this.#costOf(() => new Promise<void>((resolve) => setTimeout(resolve, IDLE_MS)))
    return { ...cost, cores: round(cost.cpuMs / IDLE_MS) }
  }

  /** Pods end and others take their places, as rolling restarts have it. Those with a connected proxy stay. */
  async churn(): Promise<KwokFigures['churn']> {
    const { cluster, options } = this.#parts
    const { services, replicas, connected, perMinute, churnSeconds } = options
    const replaced = Math.round((perMinute * churnSeconds) / 60)
    const step = Math.max(1, Math.floor((services * replicas - connected) / replaced))
    const startedAt = performance.now()
    const { cost, ms } = await this.#costOf(async () => {
      for (let n = 0; n < replaced; n += 1) {
        const dueMs = (n * 60_000) / perMinute - (performance.now() - startedAt)
        if (dueMs > 0) await new Promise((resolve) => setTimeout(resolve, dueMs))
        const gone = podOf(this.#parts.size, connected + n * step)
        await Promise.all([cluster.deletePod(gone), cluster.createPod({ ...gone, index: this.#takeNumber() })])
      }
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    })
    return { ...cost, cores: round(cost.cpuMs / ms), replaced }
  }

  async restarts(signal: AbortSignal): Promise<KwokFigures['apiServerRestart']> {
    const { cluster, options, size } = this.#parts
    const [serverMs, changeMs, costs]: [number[], number[], Cost[]] = [[], [], []]
    const callers = connectedCallers(size, options)
    const resource = { typeUrl: ENDPOINTS, name: clusterName(serviceOf(CALLED)), count: callers.size }
    let octetsToOthers = 0
    for (let n = 0; n < options.rounds; n += 1) {
      const before = (await this.#proxies.counters()).of
      const { cost } = await this.#costOf(async () => {
        const killedAt = performance.now()
        await cluster.server.restart(signal)
        serverMs.push(performance.now() - killedAt)
        const pod = { ...serviceOf(CALLED), index: this.#takeNumber() }
        const { times } = await this.#proxies.reached(
          resource,
          async () => {
            const at = process.hrtime.bigint()
            await cluster.createPod(pod)
            return at
          },
          CHANGE_MS,
        )
        changeMs.push(Math.max(...times))
      })
      costs.push(cost)
      for (const [index, { octets }] of (await this.#proxies.counters()).of)
        if (!callers.has(index)) octetsToOthers += octets - (before.get(index)?.octets ?? 0)
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    }
    return {
      serverMs: summarize(serverMs),
      changeMs: summarize(changeMs),
      cost: {
        cpuMs: round(costs.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / costs.length),
        residentMiB: Math.max(...costs.map(({ residentMiB }) => residentMiB)),
        longestBlockMs: Math.max(...costs.map(({ longestBlockMs }) => longestBlockMs)),
        longestBlockOfIdleMs: Math.max(...costs.map(({ longestBlockOfIdleMs }) => longestBlockOfIdleMs)),
      },
      octetsToOthers,
    }
  }

  async leaders(): Promise<KwokFigures['leaderChange']> {
    const [ms, cpuMs]: [number[], number[]] = [[], []]
    await this.#proxies.disconnect()
    for (let n = 0; n < this.#parts.options.rounds; n += 1) {
      // Ports are those of the mesh, so that each replica needs an address of its own.
      const address = n % 2 === 0 ? '127.0.0.2' : '127.0.0.1'
      const { controller: next } = await Controller.start({ ...this.#parts.start, address })
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
      const before = await cpuSecondsOf(next.pid)
      const startedAt = performance.now()
      await this.#controller.kill()
      this.#controller = next
      await until(() => next.leads(), 'another leader', { timeoutMs: CHANGE_MS, everyMs: POLL_MS })
      ms.push(performance.now() - startedAt)
      cpuMs.push(((await cpuSecondsOf(next.pid)) - before) * 1000)
    }
    return { ms: summarize(ms), cpuMs: summarize(cpuMs) }
  }

  async #costOf(action: () => Promise<void>): Promise<{ readonly cost: Cost; readonly ms: number }> {
    const { pid } = this.#controller
    await Promise.all([this.#controller.figures(), this.#idle.longestBlockMs()])
    const { result: ms, cpuMs } = await cpuMsOf(pid, async () => {
      const startedAt = performance.now()
      await action()
      return performance.now() - startedAt
    })
    const [{ longestBlockMs }, longestBlockOfIdleMs] = await Promise.all([
      this.#controller.figures(),
      this.#idle.longestBlockMs(),
    ])
    const cost = {
      cpuMs: round(cpuMs),
      residentMiB: round(await residentMiBOf(pid)),
      longestBlockMs: round(longestBlockMs),
      longestBlockOfIdleMs: round(longestBlockOfIdleMs),
    }
    return { cost, ms }
  }

  #takeNumber(): number {
    return this.#nextPod++
  }
}

/** Connected proxies that may call the service to which pods are added. */
function connectedCallers(size: ScaleSize, { connected }: KwokOptions): ReadonlySet<number> {
  const callers = new Set(callersOf(size, CALLED).map(({ name }) => name))
  return new Set(
    Array.from({ length: connected }, (_, index) => index).filter((index) => callers.has(podOf(size, index).name)),
  )
}
