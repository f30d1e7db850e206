import { createLogger, Metrics, systemClock } from '@osm-ts/core'

import { FakeCluster } from './fake-cluster.js'
import { MemoryApi } from './memory-api.js'

/** A bound, not a duration. */
const LIMIT_MS = 20_000

/** What a duty of the leader works on, and the duty while it runs. */
export class LeaderDuty {
  readonly api = new MemoryApi()
  readonly cluster = new FakeCluster()
  /** What all duties are given. */
  readonly options = {
    api: this.api.api,
    cluster: this.cluster.view,
    meshName: 'osm',
    clock: systemClock,
    random: Math.random,
    metrics: new Metrics(),
    logger: createLogger('test', 'disabled', { write: () => undefined }),
  }
  #abort = new AbortController()
  #running = Promise.resolve()

  start(duty: { run(signal: AbortSignal): Promise<void> }): void {
    this.#abort = new AbortController()
    this.#running = duty.run(this.#abort.signal)
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#running
  }

  /** Waits for something that the duty brings about. */
  async until(condition: () => boolean): Promise<void> {
    const end = performance.now() + LIMIT_MS
    while (!condition()) {
      const calls = this.api.calls.join(', ')
      if (performance.now() > end) throw new Error(`still not: ${condition.toString()}; calls: ${calls}`)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
}
