import { spawn, type ChildProcess } from 'node:child_process'
import { endProcess } from '../harness/child-program.js'
import type { RunningPod } from '../stand-in/index.js'

/** What became of the requests of a pod. Every request is counted, on both sides. */
export interface LoadResult {
  readonly sent: number
  /** Answered 200. */
  readonly answered: number
  /** Connections opened by those that keep theirs. */
  readonly opened: number
  /** Requests that each server has had by its last answer. */
  readonly served: Readonly<Record<string, number>>
  /** Whatever was not answered 200, by what came instead. */
  readonly failures: Readonly<Record<string, number>>
}

/** What returned. Status 0 means no answer. */
export interface LoadAnswer {
  readonly status: number
  readonly body: string
}

const applicationUser = 1000

/** A program in a pod that sends requests as the application would, and sees what its sidecar has been told. */
export class PodLoad {
  readonly pod: string
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  #asked = 0
  #words = ''

  /** @param program - of `load.mjs`, where every user may read it */
  constructor(pod: RunningPod, program: readonly [string, ...string[]]) {
    if (pod.workload === undefined) throw new Error(`pod ${pod.name} has no network yet`)
    this.pod = pod.name
    const { file, args } = pod.workload.command([...program], { uid: applicationUser })
    this.#process = spawn(file, args, {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      cwd: '/',
      env: { PATH: process.env.PATH ?? '' },
    })
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#words = (this.#words + text).slice(-2000)
    })
    this.#process.on('message', (message: { readonly id: number }) => {
      this.#waiting.get(message.id)?.resolve(message)
      this.#waiting.delete(message.id)
    })
    this.#process.on('exit', () => {
      const error = new Error(`the load of pod ${pod.name} has ended: ${this.#words}`)
      for (const { reject } of this.#waiting.values()) reject(error)
      this.#waiting.clear()
    })
  }

  /** Sends one request on its own connection. */
  ask(url: string): Promise<LoadAnswer> {
    return this.#tell('ask', { url })
  }

  /** Sends requests without pause from now on: one at a time on each connection that is kept, and each on one of its own. */
  async start(url: string, connections: { readonly kept: number; readonly fresh: number }): Promise<void> {
    await this.#tell('start', { url, ...connections })
  }

  /** Requests that have been answered so far. */
  async answered(): Promise<number> {
    return (await this.#tell<{ readonly answered: number }>('count')).answered
  }

  /** Sends no more, and waits for the answers. */
  stop(): Promise<LoadResult> {
    return this.#tell('stop')
  }

  /** When the sidecar obeys a route of outbound requests that contains the text, on the monotonic clock in nanoseconds. */
  async knows(text: string): Promise<bigint> {
    return BigInt((await this.#tell<{ readonly at: string }>('watch', { text })).at)
  }

  async end(): Promise<void> {
    await endProcess(this.#process, () => this.#process.disconnect())
  }

  #tell<T>(command: string, fields: object = {}): Promise<T> {
    const id = (this.#asked += 1)
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject })
      this.#process.send({ id, command, ...fields }, (error) => {
        if (error === null) return
        this.#waiting.delete(id)
        reject(error)
      })
    })
  }
}
