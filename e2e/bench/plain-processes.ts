import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'

import { until } from '@osm-ts/driver-api/toolkit'

import { endProcess } from '../api/harness/child-program.js'

/** Where something listens. */
export interface Address {
  readonly host: string
  readonly port: number
}

export const LOOPBACK = '127.0.0.1'

/** Two proxies in a row in front of a server, configured by hand. */
export interface PlainPair {
  /** Where requests go in. */
  readonly client: Address
  readonly pids: readonly number[]
  readonly stop: () => Promise<void>
}

/** Proxies of one program, with a folder for their configuration. */
export class PlainProcesses {
  readonly folder: string
  readonly #program: string
  readonly #processes: ChildProcess[] = []

  private constructor(program: string, folder: string) {
    this.#program = program
    this.folder = folder
  }

  /**
   * Makes the folder and starts a pair. What was started is stopped if that fails.
   *
   * @param start - gives where requests go in
   */
  static async pair(
    program: string,
    folder: string,
    start: (processes: PlainProcesses) => Promise<Address>,
  ): Promise<PlainPair> {
    await mkdir(folder)
    const processes = new PlainProcesses(program, folder)
    const stop = () => processes.#stop()
    try {
      const client = await start(processes)
      return { client, pids: processes.#processes.flatMap(({ pid }) => (pid === undefined ? [] : [pid])), stop }
    } catch (error) {
      await stop()
      throw error
    }
  }

  /** Starts one and waits until it is ready. */
  async run(what: string, args: readonly string[], isReady: () => Promise<boolean>): Promise<void> {
    const process = spawn(this.#program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    this.#processes.push(process)
    await until(() => {
      if (process.exitCode !== null) throw new Error(`${what} ended with ${process.exitCode}`)
      return isReady()
    }, what)
  }

  async #stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => endProcess(process, 'SIGKILL')))
  }
}
