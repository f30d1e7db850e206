import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

import { endProcess } from '../../api/harness/child-program.js'
import type { ServerKey } from '../baseline-server.js'

interface Answer {
  readonly id: number
  readonly port?: number
  readonly at?: string
  readonly error?: string
}

/** go-control-plane with linear caches, as a process: see linear-cache/main.go. */
export class LinearCacheServer {
  readonly pid: number
  /** Milliseconds from the start of its process until it listened. */
  #startMs = 0
  readonly #child: ChildProcess
  readonly #startedAt = performance.now()
  readonly #waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>()
  #next = 1

  /** @param program - the built linear-cache */
  constructor(program: string) {
    const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child = child
    this.pid = child.pid ?? 0
    const end = (error: Error): void => {
      for (const { reject } of this.#waiting.values()) reject(error)
      this.#waiting.clear()
    }
    child.once('error', end)
    child.once('exit', () => end(new Error(`${program} has ended`)))
    createInterface({ input: child.stdout }).on('line', (line) => this.#take(JSON.parse(line) as Answer))
  }

  get startMs(): number {
    return this.#startMs
  }

  /** Listens with a certificate, all PEM. Gives the port. */
  async listen(tls: ServerKey): Promise<number> {
    const { port } = await this.#ask({ type: 'start', ...tls })
    this.#startMs = performance.now() - this.#startedAt
    if (port === undefined) throw new Error('the linear cache does not say where it listens')
    return port
  }

  /** What these proxies, all of one workload, are sent from now on. */
  async load(nodeIds: readonly string[], messages: readonly Uint8Array[]): Promise<void> {
    await this.#ask({ type: 'answers', nodeIds, messages: messages.map(encoded) })
  }

  /** Updates endpoints by those of a message. Gives the time of the monotonic clock at which it began. */
  async push(message: Uint8Array): Promise<bigint> {
    return BigInt((await this.#ask({ type: 'push', messages: [encoded(message)] })).at ?? 0)
  }

  async close(): Promise<void> {
    await endProcess(this.#child, () => this.#child.stdin?.end())
  }

  #take(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if (answer.error === undefined) waiting?.resolve(answer)
    else waiting?.reject(new Error(`the linear cache: ${answer.error}`))
  }

  async #ask(command: object): Promise<Answer> {
    const id = this.#next
    this.#next += 1
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#child.stdin?.write(`${JSON.stringify({ ...command, id })}\n`)
    })
  }
}

function encoded(message: Uint8Array): string {
  return Buffer.from(message).toString('base64')
}
