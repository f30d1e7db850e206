import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

import { until } from '@osm-ts/driver-api/toolkit'

import { nodeProgram } from './cluster-pods.js'
import type { SharedCluster } from '../cluster/support/shared-cluster.js'

/** Pods that call without end. */
export interface CallingWorkload {
  readonly namespace: string
  /** Label `app` of the pods. */
  readonly app: string
  readonly replicas: number
  readonly everyMs: number
}

/** What answered a call: the name of the test application, or nothing. */
export type Answerer = string | undefined

/** A line of a pod: from then on its calls of a URL, by its place, are answered by that one. */
interface Told {
  readonly pod: string
  readonly place: number
  readonly by: string | null
  readonly at: number
}

/** Calls each URL again and again, with its own connection each time, and tells whenever another one answers than before. */
const script = `
const http = require('node:http')
const [everyMs, ...urls] = process.argv.slice(1)
const ask = (url) => new Promise((resolve) => {
  const request = http.get(url, { agent: false, timeout: 2000 }, (response) => {
    let body = ''
    response.on('data', (chunk) => (body += chunk)).on('error', () => resolve(null)).on('end', () => {
      resolve(response.statusCode === 200 ? JSON.parse(body).server : null)
    })
  })
  request.on('timeout', () => request.destroy()).on('error', () => resolve(null))
})
urls.forEach((url, place) => {
  let before
  const next = async () => {
    const start = Date.now()
    const by = await ask(url)
    if (by !== before) console.log(JSON.stringify({ pod: process.env.HOSTNAME, place, by, at: Date.now() }))
    before = by
    setTimeout(next, Math.max(0, Number(everyMs) - (Date.now() - start)))
  }
  setTimeout(next, Math.random() * Number(everyMs))
})
`

/** The command of a container that calls. */
export function callingCommand(everyMs: number, urls: readonly string[]): readonly string[] {
  return [nodeProgram, '-e', script, String(everyMs), ...urls]
}

/** Follows what such pods tell. Their clock is that of this machine. */
export class CallingPods {
  readonly #workload: CallingWorkload
  readonly #timeoutMs: number
  readonly #child: ChildProcessByStdio<null, Readable, Readable>
  readonly #told = new Map<string, Told>()
  #failure: Error | undefined

  private constructor({ kubectlPath, kubeconfig }: SharedCluster, workload: CallingWorkload, timeoutMs: number) {
    this.#workload = workload
    this.#timeoutMs = timeoutMs
    const { namespace, app, replicas } = workload
    const args = ['logs', '-f', '-n', namespace, '-l', `app=${app}`, '-c', 'app', '--tail=-1']
    this.#child = spawn(kubectlPath, [...args, `--max-log-requests=${replicas}`], {
      env: { ...process.env, KUBECONFIG: kubeconfig },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    this.#child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    this.#child.once('error', (error) => (this.#failure = error))
    this.#child.once('close', () => (this.#failure = new Error(`kubectl logs has ended: ${said.trim()}`)))
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const told = JSON.parse(line) as Told
      this.#told.set(`${told.pod} ${told.place}`, told)
    })
  }

  /** Comes back when all of them have told something. */
  static async follow(cluster: SharedCluster, workload: CallingWorkload, timeoutMs: number): Promise<CallingPods> {
    const pods = new CallingPods(cluster, workload, timeoutMs)
    await pods.#until(`a word of all ${workload.replicas} pods`, () => pods.#ofPlace(0).length === workload.replicas)
    return pods
  }

  /** Waits until the calls of all pods are answered so; gives the time at which the last of them first was. */
  async untilAll({ place, by }: { readonly place: number; readonly by: Answerer }, what: string): Promise<number> {
    const expected = by ?? null
    const isThere = (): boolean => {
      const told = this.#ofPlace(place)
      return told.length === this.#workload.replicas && told.every((each) => each.by === expected)
    }
    await this.#until(what, isThere)
    return Math.max(...this.#ofPlace(place).map(({ at }) => at))
  }

  close(): void {
    this.#child.kill('SIGKILL')
  }

  #ofPlace(place: number): readonly Told[] {
    return [...this.#told.values()].filter((told) => told.place === place)
  }

  async #until(what: string, isSo: () => boolean): Promise<void> {
    const check = (): boolean => {
      if (this.#failure !== undefined) throw this.#failure
      return isSo()
    }
    const failure = (): Error => new Error(`${what}: not within ${this.#timeoutMs} ms; told: ${this.#summary()}`)
    await until(check, what, { timeoutMs: this.#timeoutMs, everyMs: 20, failure })
  }

  #summary(): string {
    const counts = new Map<string, number>()
    for (const { place, by } of this.#told.values()) {
      const key = `${place}: ${by ?? 'nobody'}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    return JSON.stringify(Object.fromEntries(counts))
  }
}
