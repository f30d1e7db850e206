import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { endProcess } from '../../api/harness/child-program.js'
import { freePort } from '../../api/support/controller-process.js'
import { HeapProbe } from '../soak/probe.js'
import { round } from '../statistics.js'
import { OSM_NAMESPACE } from './mesh.js'

/** How a controller is started. */
export interface ControllerOptions {
  /** Bundle of osm-controller. */
  readonly program: string
  /** Of its log. */
  readonly folder: string
  readonly kubeconfig: string
  /** Port at which proxies of a replica connect is that of the mesh; the address is its own. 127.0.0.1 if absent. */
  readonly address?: string
  /** Bundle that is loaded before the program, so that its heap can be asked about, see soak/probe-main.ts. */
  readonly probe?: string | undefined
  /** Folder for a profile of its processor time, which it writes when it ends. */
  readonly profiles?: string | undefined
}

/** What a controller has counted. */
export interface ControllerFigures {
  /** Policies of proxies that were computed again, since it was started. */
  readonly recomputedPolicies: number
  /** Longest time in milliseconds for which its event loop was busy with one thing, since this was last requested. */
  readonly longestBlockMs: number
  /** Proxies that are connected. */
  readonly connected: number
}

/** Memory of a process in MiB. */
export interface MemoryOfProcess {
  readonly residentMiB: number
  /** Used, with what the next collection will free. */
  readonly heapMiB: number
  readonly externalMiB: number
}

const MEBIBYTE = 2 ** 20
/** What V8 compiles on the way grows for minutes, and would be taken for something that is left. With these flags it is there after the first use, or not at all. */
const PROBED = ['--expose-gc', '--no-opt', '--no-sparkplug', '--no-lazy-feedback-allocation', '--no-flush-bytecode']

/** osm-controller as a process, as the chart starts it. */
export class Controller {
  readonly pid: number
  /** Answers only where the controller was started with one. */
  readonly probe: HeapProbe
  readonly #child: ChildProcess
  /** Its server of health and metrics. */
  readonly #health: string
  readonly #logFile: string
  readonly #startedAt = performance.now()

  private constructor(child: ChildProcess, health: string, logFile: string) {
    this.#child = child
    this.pid = child.pid ?? 0
    this.probe = new HeapProbe(child)
    this.#health = health
    this.#logFile = logFile
  }

  /** Starts one and gives the milliseconds until it was ready. */
  static async start(options: ControllerOptions): Promise<{ readonly controller: Controller; readonly ms: number }> {
    const controller = await Controller.spawn(options)
    await controller.ready()
    return { controller, ms: controller.ageMs }
  }

  /** Starts its process. */
  static async spawn(options: ControllerOptions): Promise<Controller> {
    const { program, folder, kubeconfig, address = '127.0.0.1', probe, profiles } = options
    const [health, debug, webhook] = [await freePort(), await freePort(), await freePort()]
    const logFile = join(folder, `controller-${health}.log`)
    const child = spawn(
      process.execPath,
      [
        ...(probe === undefined ? [] : [...PROBED, '--import', probe]),
        ...(profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`]),
        program,
        `--kubeconfig=${kubeconfig}`,
        '--mesh-name=osm',
        `--osm-namespace=${OSM_NAMESPACE}`,
        `--bind-address=${address}`,
        `--health-port=${health}`,
        `--debug-port=${debug}`,
        `--webhook-port=${webhook}`,
        '--replica-port=0',
        '--verbosity=warn',
      ],
      {
        stdio: ['ignore', 'ignore', 'pipe', ...(probe === undefined ? [] : ['ipc' as const])],
        // As the chart sets them.
        env: {
          PATH: process.env.PATH,
          OSM_DEFAULT_SIDECAR_CLASS: 'envoy',
          NODE_OPTIONS: '--max-semi-space-size=8',
        },
      },
    )
    child.stderr?.pipe(createWriteStream(logFile))
    return new Controller(child, `http://${address}:${health}`, logFile)
  }

  /** Milliseconds since its process was started. */
  get ageMs(): number {
    return performance.now() - this.#startedAt
  }

  async figures(): Promise<ControllerFigures> {
    const valueOf = await this.#metrics()
    return {
      recomputedPolicies: valueOf('osm_policy_recomputed_count'),
      longestBlockMs: valueOf('nodejs_eventloop_lag_max_seconds') * 1000,
      connected: valueOf('osm_proxy_connect_count'),
    }
  }

  async memory(): Promise<MemoryOfProcess> {
    const valueOf = await this.#metrics()
    const mebibytes = (name: string): number => round(valueOf(name) / MEBIBYTE)
    return {
      residentMiB: mebibytes('process_resident_memory_bytes'),
      heapMiB: mebibytes('nodejs_heap_size_used_bytes'),
      externalMiB: mebibytes('nodejs_external_memory_bytes'),
    }
  }

  /** Whether it leads the replicas. */
  async leads(): Promise<boolean> {
    return (await this.#metrics())('osm_leader') === 1
  }

  /** Resolves when it reports that it is ready. */
  async ready(): Promise<void> {
    for (;;) {
      if (this.#child.exitCode !== null) throw new Error(`osm-controller has ended: ${this.lastWords()}`)
      const response = await fetch(`${this.#health}/health/ready`).catch(() => undefined)
      if (response?.status === 200) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  async stop(): Promise<void> {
    await endProcess(this.#child, 'SIGTERM', 30_000)
  }

  /** Ends it as a power cut would: what it holds, it holds until that expires. */
  async kill(): Promise<void> {
    await endProcess(this.#child, 'SIGKILL')
  }

  /** The last lines of its log. */
  lastWords(): string {
    return readFileSync(this.#logFile, 'utf8').split('\n').slice(-20).join('\n')
  }

  async #metrics(): Promise<(name: string) => number> {
    const text = await (await fetch(`${this.#health}/metrics`)).text()
    return (name) => {
      const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
      if (line === undefined) throw new Error(`osm-controller has no metric ${name}`)
      return Number(line.slice(name.length + 1))
    }
  }
}
