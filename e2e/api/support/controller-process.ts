import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { listen } from '@osm-ts/driver-testkit/testing'

import { ChildProgram } from '../harness/index.js'

const bundle = fileURLToPath(new URL('../../../packages/controller/dist/osm-controller.mjs', import.meta.url))

/** How to start a controller. */
export interface ControllerProcessOptions {
  readonly name: string
  readonly folder: string
  /** A kubeconfig, or the folder that a pod has its service account in. */
  readonly kubeconfig: string | ServiceAccountFolder
  readonly address: string
  readonly meshName: string
  readonly osmNamespace: string
  readonly flags?: readonly string[]
  /** Beside what every controller of these tests has. */
  readonly environment?: Readonly<Record<string, string>>
  /** Absent: a free one. */
  readonly webhookPort?: number
}

/** What the kubelet puts into a pod. */
export interface ServiceAccountFolder {
  /** Holds `token` and `ca.crt`. */
  readonly folder: string
  readonly host: string
  readonly port: number
}

/** An answer to a GET. */
export interface Answer {
  readonly status: number
  readonly body: string
}

/** osm-controller as its own process, the very bundle that is shipped. */
export class ControllerProcess {
  readonly program: ChildProgram
  readonly address: string
  readonly ports: Readonly<Record<'health' | 'debug' | 'webhook' | 'replicas', number>>

  private constructor(program: ChildProgram, address: string, ports: ControllerProcess['ports']) {
    this.program = program
    this.address = address
    this.ports = ports
  }

  static async start(options: ControllerProcessOptions): Promise<ControllerProcess> {
    const { name, folder, kubeconfig, address, meshName, osmNamespace, flags = [] } = options
    const ports = {
      health: await freePort(address),
      debug: await freePort(address),
      webhook: options.webhookPort ?? (await freePort(address)),
      replicas: await freePort(address),
    }
    const args = [
      bundle,
      `--mesh-name=${meshName}`,
      `--osm-namespace=${osmNamespace}`,
      `--bind-address=${address}`,
      `--health-port=${String(ports.health)}`,
      `--debug-port=${String(ports.debug)}`,
      `--webhook-port=${String(ports.webhook)}`,
      `--replica-port=${String(ports.replicas)}`,
      ...flags,
    ]
    const env = {
      PATH: process.env.PATH ?? '',
      OSM_DEFAULT_SIDECAR_CLASS: 'envoy',
      // As the chart sets it.
      NODE_OPTIONS: '--max-semi-space-size=8',
      ...options.environment,
    }
    const logFile = join(folder, `${name}.log`)
    const program =
      typeof kubeconfig === 'string'
        ? new ChildProgram({
            name,
            file: process.execPath,
            args: [...args, `--kubeconfig=${kubeconfig}`],
            env,
            logFile,
          })
        : new ChildProgram({
            name,
            file: 'unshare',
            args: ['--mount', 'sh', '-c', inPod, 'sh', kubeconfig.folder, process.execPath, ...args],
            env: { ...env, KUBERNETES_SERVICE_HOST: kubeconfig.host, KUBERNETES_SERVICE_PORT: String(kubeconfig.port) },
            logFile,
          })
    return new ControllerProcess(program, address, ports)
  }

  /** `/health/<which>`: its status, or 0 while no one answers. */
  async health(which: 'alive' | 'ready'): Promise<number> {
    return (await this.#get(this.ports.health, `/health/${which}`)).status
  }

  async untilReady(timeoutMs = 60_000): Promise<void> {
    await eventually(
      () => this.health('ready'),
      (status) => status === 200 || !this.program.isRunning,
      { timeoutMs, what: 'readiness' },
    ).catch((error: unknown) => {
      throw new Error(this.program.lastWords(), { cause: error })
    })
    if (!this.program.isRunning) throw new Error(this.program.lastWords())
  }

  /** A page of the debug server. */
  debug(path: string): Promise<Answer> {
    return this.#get(this.ports.debug, path)
  }

  async debugJson<T>(path: string): Promise<T> {
    return JSON.parse((await this.debug(path)).body) as T
  }

  /** Sum of the series of a metric. */
  async metric(name: string): Promise<number> {
    const { body } = await this.#get(this.ports.health, '/metrics')
    const lines = body.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
  }

  /** Names and types of the metrics of ours that it serves. */
  async metricNames(): Promise<readonly string[]> {
    const { body } = await this.#get(this.ports.health, '/metrics')
    return [...body.matchAll(/^# TYPE (osm_\w+) (\w+)$/gm)].map(([, name = '', type = '']) => `${name} ${type}`)
  }

  async #get(port: number, path: string): Promise<Answer> {
    try {
      // No Host names 0.0.0.0: debug pages answer to names of their own only.
      const host = this.address === '0.0.0.0' ? '127.0.0.1' : this.address
      const response = await fetch(`http://${host}:${String(port)}${path}`, {
        signal: AbortSignal.timeout(10_000),
      })
      return { status: response.status, body: await response.text() }
    } catch {
      return { status: 0, body: '' }
    }
  }
}

/** Shows a folder where pods have their service account, to this program alone, and becomes the program. */
const inPod = [
  'set -e',
  'source="$1"',
  'shift',
  'mount -t tmpfs none /run',
  'mkdir -p /run/secrets/kubernetes.io',
  'cp -r "$source" /run/secrets/kubernetes.io/serviceaccount',
  'exec "$@"',
].join('\n')

/** A port that no one has. Somebody else could take it meanwhile, which the addresses of tests make unlikely. */
export async function freePort(address = '127.0.0.1'): Promise<number> {
  const server = createServer()
  const port = await listen(server, address, 0)
  await new Promise((resolve) => server.close(resolve))
  return port
}
