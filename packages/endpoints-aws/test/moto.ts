import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A server of moto, which has EC2 and Auto Scaling in memory. */
export class Moto {
  readonly url: string
  readonly #process: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.#process = child
    this.url = url
  }

  /** Starts the moto that set-up has installed. */
  static async start(): Promise<Moto> {
    const python = process.env.OSM_MOTO_PYTHON
    if (python === undefined) throw new Error('OSM_MOTO_PYTHON is not set; "npm test -- integration" sets it')
    const child = spawn(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', '0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const said: string[] = []
    for await (const line of createInterface(child.stderr)) {
      const url = /Running on (http:\S+)/.exec(line)?.[1]
      if (url !== undefined) {
        child.stderr.resume()
        return new Moto(child, url)
      }
      said.push(line)
    }
    throw new Error(`moto did not start: ${said.join('\n')}`)
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGTERM')
    await ended
  }
}
