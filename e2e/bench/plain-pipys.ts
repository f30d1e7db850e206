import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'

import { until } from '@osm-ts/driver-api/toolkit'

import { certificateOfBoth, LOOPBACK, type Address } from './plain-envoys.js'

/**
 * Two Pipys with the shortest scripts that do: HTTP in, mutual TLS between them, HTTP out. Nothing is checked but the chain of a certificate, so that no
 * sidecar can be as fast.
 */
export class PlainPipys {
  readonly #processes: ChildProcess[] = []
  readonly #pipy: string
  readonly #folder: string

  private constructor(pipy: string, folder: string) {
    this.#pipy = pipy
    this.#folder = folder
  }

  /** Starts both in front of a server. `client` is where requests go in. */
  static async start(
    pipy: string,
    folder: string,
    server: Address,
  ): Promise<{ readonly pipys: PlainPipys; readonly client: Address; readonly pids: readonly number[] }> {
    await mkdir(folder)
    const pipys = new PlainPipys(pipy, folder)
    try {
      const { root, chain, key } = await certificateOfBoth()
      const tls = `{ certificate: { cert: new crypto.CertificateChain(${JSON.stringify(chain)}), key: new crypto.PrivateKey(${JSON.stringify(key)}) }, trusted: [new crypto.Certificate(${JSON.stringify(root)})] }`
      const [inbound, outbound] = [await freeAddress(), await freeAddress()]
      await pipys.#run(
        'server',
        inbound,
        `$.acceptTLS(${tls}).to($ => $.demuxHTTP().to($ => $.muxHTTP(() => 1, { maxQueue: 1 }).to($ => $.connect('${text(server)}'))))`,
      )
      await pipys.#run(
        'client',
        outbound,
        `$.demuxHTTP().to($ => $.muxHTTP(() => 1, { maxQueue: 1 }).to($ => $.connectTLS(Object.assign(${tls}, { sni: 'server.plain' })).to($ => $.connect('${text(inbound)}'))))`,
      )
      return { pipys, client: outbound, pids: pipys.#processes.flatMap(({ pid }) => (pid === undefined ? [] : [pid])) }
    } catch (error) {
      await pipys.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#processes.map(async (process) => {
        if (process.exitCode !== null || process.signalCode !== null) return
        const ended = once(process, 'exit')
        process.kill('SIGKILL')
        await ended
      }),
    )
  }

  async #run(name: string, at: Address, filters: string): Promise<void> {
    const script = join(this.#folder, `${name}.js`)
    await writeFile(script, `pipy.listen('${text(at)}', $ => ${filters})\n`, { mode: 0o600 })
    const process = spawn(this.#pipy, [script], { stdio: ['ignore', 'ignore', 'inherit'] })
    this.#processes.push(process)
    await until(() => {
      if (process.exitCode !== null) throw new Error(`the Pipy of the ${name} ended with ${process.exitCode}`)
      return isListening(at)
    }, `the Pipy of the ${name}`)
  }
}

function text({ host, port }: Address): string {
  return `${host}:${port}`
}

async function freeAddress(): Promise<Address> {
  const server = createServer().listen(0, LOOPBACK)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return { host: LOOPBACK, port }
}

function isListening(at: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(at)
    const settle = (isOpen: boolean): void => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}
