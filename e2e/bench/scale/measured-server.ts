import { round, type Summary, summarize } from '../statistics.js'
import { cpuMsOf, residentMiBOf } from './process-figures.js'
import type { Proxies } from './proxies.js'

/** What connections cost a server. Processor times are in milliseconds: the kernel counts in steps of 10 ms. */
export interface ConnectionCosts {
  /** The first connections; the controller issues certificates meanwhile. */
  readonly first: { readonly lastMs: number; readonly cpuMs: number }
  /** Reconnects: until the last is configured, and the mean processor time. */
  readonly again: { readonly lastMs: Summary; readonly cpuMs: number }
  /** Resident memory with all first connections, and at the end of the benchmark. */
  readonly residentMiB: { readonly connected: number; readonly last: number }
}

type Connect = () => Promise<readonly number[]>

/** What ends costs a server as well, and belongs to nothing that is measured. */
const ENDING_MS = 1000

/** A server with proxies of its own, which connect all at once. */
export class MeasuredServer {
  readonly #pid: number
  readonly #proxies: Proxies
  readonly #connect: Connect
  readonly #againMs: number[] = []
  #againCpuMs = 0
  #first: ConnectionCosts['first'] = { lastMs: 0, cpuMs: 0 }
  #connectedMiB = 0

  /** @param connect - how proxies reconnect; gives the milliseconds after which each was configured */
  constructor(pid: number, proxies: Proxies, connect: Connect) {
    this.#pid = pid
    this.#proxies = proxies
    this.#connect = connect
  }

  /** Processor time of something that it does, in milliseconds. */
  async cpuMsOf<T>(action: () => Promise<T>): Promise<{ readonly result: T; readonly cpuMs: number }> {
    return cpuMsOf(this.#pid, action)
  }

  async connectFirst(connect = this.#connect): Promise<void> {
    const { result, cpuMs } = await this.cpuMsOf(connect)
    this.#first = { lastMs: round(Math.max(...result)), cpuMs: round(cpuMs) }
    this.#connectedMiB = round(await residentMiBOf(this.#pid))
  }

  async reconnect(): Promise<void> {
    await this.#proxies.disconnect()
    await new Promise((resolve) => setTimeout(resolve, ENDING_MS))
    const { result, cpuMs } = await this.cpuMsOf(this.#connect)
    this.#againMs.push(Math.max(...result))
    this.#againCpuMs += cpuMs
  }

  async costs(): Promise<ConnectionCosts> {
    return {
      first: this.#first,
      again: { lastMs: summarize(this.#againMs), cpuMs: round(this.#againCpuMs / this.#againMs.length) },
      residentMiB: { connected: this.#connectedMiB, last: round(await residentMiBOf(this.#pid)) },
    }
  }
}
