import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

import { endProcess } from '../../api/harness/child-program.js'

/** Measures as the controller does: the most since it was last asked, in milliseconds. */
const PROGRAM = `
import { monitorEventLoopDelay } from 'node:perf_hooks'
const delay = monitorEventLoopDelay()
delay.enable()
process.on('message', () => {
  process.send(delay.max / 1e6)
  delay.reset()
})
process.once('disconnect', () => process.exit())
`

/** A bare Node process with nothing to do. Its event loop is late by what the machine takes from it; what another is late by beyond that is its own. */
export class IdleProcess {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(): Promise<IdleProcess> {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const idle = new IdleProcess(child)
    // It answers once it measures.
    await idle.longestBlockMs()
    return idle
  }

  /** Longest time for which its event loop did nothing, since this was last requested. */
  async longestBlockMs(): Promise<number> {
    const answer = once(this.#child, 'message') as Promise<[number]>
    this.#child.send('longest')
    const [milliseconds] = await answer
    return milliseconds
  }

  async stop(): Promise<void> {
    await endProcess(this.#child, () => this.#child.disconnect())
  }
}
