import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

import { OSM_NAMESPACE } from './mesh.js'

/** How a controller is started. */
export interface ControllerOptions {
  /** Bundle of osm-controller. */
  readonly program: string
  /** Of its kubeconfig and its log. */
  readonly folder: string
  /** URL of the API server. */
  readonly api: string
  /** Flags of Node.js. */
  readonly execArgv: readonly string[]
}

/** Metrics by name; series of one name are summed up. */
export type MetricValues = ReadonlyMap<string, number>

/** osm-controller as a process, as the chart starts it. */
export class Controller {
  readonly pid: number
  readonly #child: ChildProcess
  readonly #healthPort: number
  readonly #logFile: string

  private constructor(child: ChildProcess, healthPort: number, logFile: string) {
    this.#child = child
    this.pid = child.pid ?? 0
    this.#healthPort = healthPort
    this.#logFile = logFile
  }

  /** Starts one and gives the milliseconds until it was ready. */
  static async start(options: ControllerOptions): Promise<{ readonly controller: Controller; readonly ms: number }> {
    const { program, folder, api, execArgv } = options
    const kubeconfig = join(folder, 'kubeconfig')
    writeFileSync(kubeconfig, kubeconfigFor(api))
    const [health, debug, webhook] = [await freePort(), await freePort(), await freePort()]
    const logFile = join(folder, `controller-${health}.log`)
    const start = performance.now()
    const child = spawn(
      process.execPath,
      [
        ...execArgv,
        program,
        `--kubeconfig=${kubeconfig}`,
        '--mesh-name=osm',
        `--osm-namespace=${OSM_NAMESPACE}`,
        '--bind-address=127.0.0.1',
        `--health-port=${health}`,
        `--debug-port=${debug}`,
        `--webhook-port=${webhook}`,
        '--verbosity=warn',
      ],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
        // As the chart sets them.
        env: {
          PATH: process.env.PATH,
          OSM_DEFAULT_SIDECAR_CLASS: 'envoy',
          NODE_OPTIONS: '--max-semi-space-size=4',
        },
      },
    )
    child.stderr.pipe(createWriteStream(logFile))
    const controller = new Controller(child, health, logFile)
    await controller.#ready()
    return { controller, ms: performance.now() - start }
  }

  async metrics(): Promise<MetricValues> {
    const text = await (await fetch(`http://127.0.0.1:${this.#healthPort}/metrics`)).text()
    const values = new Map<string, number>()
    for (const line of text.split('\n')) {
      if (line === '' || line.startsWith('#')) continue
      const name = line.slice(0, line.search(/[{ ]/))
      values.set(name, (values.get(name) ?? 0) + Number(line.slice(line.lastIndexOf(' ') + 1)))
    }
    return values
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill()
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 30_000)
    await exited
    clearTimeout(timer)
  }

  /** The last lines of its log. */
  lastWords(): string {
    return readFileSync(this.#logFile, 'utf8').split('\n').slice(-20).join('\n')
  }

  async #ready(): Promise<void> {
    for (;;) {
      if (this.#child.exitCode !== null) throw new Error(`osm-controller has ended: ${this.lastWords()}`)
      const response = await fetch(`http://127.0.0.1:${this.#healthPort}/health/ready`).catch(() => undefined)
      if (response?.status === 200) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** A port of loopback that nobody has. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

function kubeconfigFor(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'bench',
    clusters: [{ name: 'bench', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'bench', user: {} }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
  })
}
