import { type ChildProcess, fork } from 'node:child_process'

import { endProcess } from '../../api/harness/child-program.js'

interface Answer {
  readonly id?: number
}

/** Questions to a process of a benchmark: each has a number, and the answer the same. */
export class ChildRequests {
  readonly pid: number
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, { resolve: (answer: never) => void; reject: (error: Error) => void }>()
  readonly #first: Promise<unknown>
  #next = 1

  /** @param program - a bundle; it ends when it is told `close` */
  constructor(program: string) {
    this.#process = fork(program, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // None of the flags of the benchmark itself.
      execArgv: [],
      serialization: 'advanced',
    })
    this.pid = this.#process.pid ?? 0
    const end = (): void => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`${program} has ended`))
      this.#waiting.clear()
    }
    this.#process.once('exit', end)
    this.#first = new Promise((resolve, reject) => {
      this.#process.once('message', resolve)
      this.#process.once('exit', () => reject(new Error(`${program} has ended`)))
    })
    this.#first.catch(() => undefined)
    this.#process.on('message', (answer: Answer) => {
      if (answer.id === undefined) return
      this.#waiting.get(answer.id)?.resolve(answer as never)
      this.#waiting.delete(answer.id)
    })
  }

  /** What it says first of all. */
  async first<T>(): Promise<T> {
    return (await this.#first) as T
  }

  /** @throws Error when the process ends before it answers */
  async ask<T>(command: object): Promise<T> {
    const id = this.#next
    this.#next += 1
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#process.send({ ...command, id })
    })
  }

  async close(): Promise<void> {
    const ask = (): void => {
      if (this.#process.connected) this.#process.send({ type: 'close' })
    }
    await endProcess(this.#process, ask, 10_000)
  }
}
