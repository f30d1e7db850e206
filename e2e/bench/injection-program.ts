import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** osm-injector as a process. */
export class InjectorProgram {
  readonly webhookPort: number
  readonly #healthPort: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, ports: { readonly webhook: number; readonly health: number }) {
    this.#child = child
    this.webhookPort = ports.webhook
    this.#healthPort = ports.health
  }

  /** Resolves when it answers reviews. */
  static async start(bundle: string, flags: readonly string[]): Promise<InjectorProgram> {
    const child = spawn(process.execPath, [bundle, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
    const seen: string[] = []
    let health = 0
    const lines = createInterface({ input: child.stderr })
    return new Promise((resolve, reject) => {
      child.once('exit', () => reject(new Error(`osm-injector has ended: ${seen.join('\n')}`)))
      lines.on('line', (line) => {
        if (seen.length < 20) seen.push(line)
        const { healthPort, port, message } = parsed(line)
        if (healthPort !== undefined) health = healthPort
        if (port === undefined || message !== 'injecting sidecars') return
        resolve(new InjectorProgram(child, { webhook: port, health }))
        // Anyone who stops reading would stop the program with a later line, and anyone who reads a line for each review takes the processor from it.
        lines.close()
        child.stderr.resume()
      })
    })
  }

  /** Seconds of processor time that it has taken. */
  async cpuSeconds(): Promise<number> {
    return this.#metric('process_cpu_seconds_total')
  }

  async residentMiB(): Promise<number> {
    return (await this.#metric('process_resident_memory_bytes')) / 2 ** 20
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.kill()
    await exited
  }

  async #metric(name: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.#healthPort}/metrics`)).text()
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
    if (line === undefined) throw new Error(`osm-injector has no metric ${name}`)
    return Number(line.slice(name.length + 1))
  }
}

interface StartLine {
  readonly healthPort?: number
  readonly port?: number
  readonly message?: string
}

function parsed(line: string): StartLine {
  return line.startsWith('{') ? (JSON.parse(line) as StartLine) : {}
}
