import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** One line that a program printed. */
export type Line = Readonly<Record<string, unknown>>

const folder = new URL('../', import.meta.url)

/** One of the programs of the example, as a process. */
export class Program {
  readonly #child: ChildProcessByStdio<null, Readable, null>
  readonly #lines: AsyncIterator<string, undefined>
  readonly #exit: Promise<unknown>

  constructor(file: string, env: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, [file], {
      cwd: folder,
      env: { HOST: '127.0.0.1', PORT: '0', INTERVAL_MS: '1', ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    this.#exit = once(this.#child, 'exit')
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** The next line that `wanted` accepts. */
  async line(wanted: (line: Line) => boolean = () => true): Promise<Line> {
    for (;;) {
      const next = await this.#lines.next()
      if (next.done === true) throw new Error('the program ended')
      const line = JSON.parse(next.value) as Line
      if (wanted(line)) return line
    }
  }

  /** Where a server listens, once it does. */
  async address(): Promise<string> {
    return String((await this.line(({ listening }) => listening !== undefined))['listening'])
  }

  /** Tells the program to stop without waiting for it. */
  terminate(): void {
    this.#child.kill('SIGTERM')
  }

  /** Exit code and signal. */
  async ended(): Promise<unknown> {
    return this.#exit
  }

  async stop(): Promise<unknown> {
    this.terminate()
    return this.#exit
  }
}
