import { type ChildProcess, fork } from 'node:child_process'

/** What the process of simulated proxies is told. */
export type ClientsCommand =
  | {
      readonly type: 'connect'
      readonly server: { readonly target: string; readonly serverName: string; readonly roots: string }
      readonly proxies: readonly { readonly nodeId: string; readonly chain: string; readonly privateKey: string }[]
    }
  | { readonly type: 'close' }

/** What it says. `at` is the monotonic clock in nanoseconds. */
export type ClientsReport =
  | {
      readonly type: 'acknowledged'
      readonly client: number
      readonly at: string
      readonly of: string
      readonly names: readonly string[]
      readonly octets: number
    }
  | { readonly type: 'error'; readonly client: number; readonly message: string }

type Acknowledged = Extract<ClientsReport, { type: 'acknowledged' }>

/** Simulated proxies in their own process. */
export class Clients {
  readonly #process: ChildProcess
  readonly #listeners = new Set<(report: Acknowledged) => void>()
  #failure: Error | undefined
  #lastReport = 0n

  /** @param program - the bundle of clients-main.ts */
  constructor(program: string) {
    this.#process = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#process.on('message', (report: ClientsReport) => {
      if (report.type === 'error') {
        this.#failure ??= new Error(`simulated proxy ${report.client}: ${report.message}`)
        return
      }
      this.#lastReport = process.hrtime.bigint()
      for (const listener of [...this.#listeners]) listener(report)
    })
  }

  connect(command: Omit<Extract<ClientsCommand, { type: 'connect' }>, 'type'>): void {
    this.#process.send({ type: 'connect', ...command } satisfies ClientsCommand)
  }

  /**
   * Resolves with the time in milliseconds, from the given start, at which the last of `count` clients acknowledged something that `accept` takes.
   *
   * @throws Error when that takes longer than `timeoutMs`, or when a client fails
   */
  async lastOf(
    count: number,
    start: bigint,
    accept: (report: Acknowledged) => boolean,
    timeoutMs: number,
  ): Promise<number> {
    const done = new Set<number>()
    let last = start
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#listeners.delete(listener)
      }
      const timer = setTimeout(() => {
        end()
        reject(
          this.#failure ?? new Error(`${done.size} of ${count} simulated proxies acknowledged within ${timeoutMs} ms`),
        )
      }, timeoutMs)
      const listener = (report: Acknowledged): void => {
        if (!accept(report) || done.has(report.client)) return
        done.add(report.client)
        const at = BigInt(report.at)
        if (at > last) last = at
        if (done.size < count) return
        end()
        resolve(Number(last - start) / 1e6)
      }
      this.#listeners.add(listener)
    })
  }

  /** Resolves when nothing has been acknowledged for a while. */
  async quiet(forMs: number): Promise<void> {
    const idle = (): boolean => Number(process.hrtime.bigint() - this.#lastReport) / 1e6 >= forMs
    while (!idle()) await new Promise((resolve) => setTimeout(resolve, forMs / 4))
  }

  /** Bytes of resources that clients acknowledge until the result is called; it gives the sum. */
  countOctets(): () => number {
    let sum = 0
    const listener = ({ octets }: Acknowledged): void => {
      sum += octets
    }
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      return sum
    }
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    if (this.#process.connected) this.#process.send({ type: 'close' } satisfies ClientsCommand)
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), 5000)
    await ended
    clearTimeout(timer)
  }
}
