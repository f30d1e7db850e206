import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { SharedCluster } from './shared-cluster.js'

/** A port of this machine that leads into the cluster, for as long as a kubectl runs. */
export class LocalPort {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.url = `http://127.0.0.1:${port}`
  }

  /**
   * Leads to a port inside a pod.
   *
   * @param target - as kubectl takes it: `deploy/x`
   */
  static toPod(cluster: SharedCluster, namespace: string, target: string, port: number): Promise<LocalPort> {
    return LocalPort.#open(cluster, ['port-forward', target, `:${port}`, '--namespace', namespace])
  }

  /** Leads to the API server, which takes requests for those of the kubeconfig. */
  static toApiServer(cluster: SharedCluster): Promise<LocalPort> {
    return LocalPort.#open(cluster, ['proxy', '--port=0'])
  }

  /** The answer to a GET. Throws if it is not one of success. */
  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.url}${path}`)
    if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as T
  }

  close(): void {
    this.#child.kill('SIGKILL')
  }

  static async #open(cluster: SharedCluster, command: readonly string[]): Promise<LocalPort> {
    const args = [...command, '--address=127.0.0.1']
    const env = { ...process.env, KUBECONFIG: cluster.kubeconfig }
    const child = spawn(cluster.kubectlPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const ended = once(child, 'close').then(() => {
      throw new Error(`kubectl ${command.join(' ')} has ended: ${said.trim()}`)
    })
    // It ends by `close`, which is no fault.
    ended.catch(() => undefined)
    const first = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])
    const line = String(first[0])
    const [, port] = /127\.0\.0\.1:(\d+)/.exec(line) ?? []
    if (port === undefined) throw new Error(`kubectl ${command.join(' ')} names no port: ${line}`)
    return new LocalPort(child, Number(port))
  }
}
