import type { DriverMetrics, Logger } from '@osm-ts/driver-api'

/** How often the event loop is checked. */
const TICK_MS = 20
/** How often processor time is checked, which takes longer than the rest: what is told of a block may count as much of the time before it. */
const CPU_LOOK_MS = 200
/** A block of this length is told of. */
export const BLOCK_MS = 100
/** Tasks that a line of the log names at most, the longest first. */
const MAX_TASKS = 3
const LAG_BUCKETS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5]

/** What a {@link LoopWatch} is made with. */
export interface LoopWatchOptions {
  readonly metrics: DriverMetrics
  readonly logger: Logger
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
  /** Milliseconds of processor time that this process has used. */
  readonly cpu?: () => number
}

function cpuTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/**
 * Measures how late the event loop is, and says what ran when it was blocked. While it is, no one is served: no proxy, no probe, no webhook.
 *
 * Only tasks that are run through it can be named; the others are `other`. A process that is stopped, or gets no processor, looks as if it were blocked:
 * the processor time in the log distinguishes these.
 */
export class LoopWatch {
  readonly #lag
  readonly #blocks
  readonly #logger: Logger
  readonly #now: () => number
  readonly #cpu: () => number
  #lastTick: number
  #lastCpu: number
  #lastCpuTick: number
  /** Milliseconds of each task since the last look. */
  readonly #ran = new Map<string, number>()

  constructor({ metrics, logger, now = () => performance.now(), cpu = cpuTime }: LoopWatchOptions) {
    this.#lag = metrics.histogram('osm_event_loop_lag_seconds', 'Delay of the event loop, in seconds', [], LAG_BUCKETS)
    this.#blocks = metrics.counter('osm_event_loop_block_count', 'Blocks of the event loop', ['task'])
    this.#logger = logger
    this.#now = now
    this.#cpu = cpu
    this.#lastTick = now()
    this.#lastCpuTick = this.#lastTick
    this.#lastCpu = cpu()
  }

  /**
   * Runs work that is done before this returns.
   *
   * @param task - one of a few fixed names
   */
  run<T>(task: string, work: () => T): T {
    const start = this.#now()
    try {
      return work()
    } finally {
      this.#ran.set(task, (this.#ran.get(task) ?? 0) + this.#now() - start)
    }
  }

  /** Looks at the clock every {@link TICK_MS} until the signal aborts. Does not keep a process alive. */
  start(signal: AbortSignal): void {
    if (signal.aborted) return
    this.#lastTick = this.#now()
    this.#lookAtCpu(this.#lastTick)
    const timer = setInterval(() => this.look(TICK_MS), TICK_MS).unref()
    signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  }

  /** @param dueMs - milliseconds after the last look at which this one was due */
  look(dueMs: number): void {
    const now = this.#now()
    const lateMs = Math.max(0, now - this.#lastTick - dueMs)
    this.#lag.observe({}, lateMs / 1000)
    if (lateMs > BLOCK_MS) this.#tell(lateMs, this.#cpu() - this.#lastCpu)
    if (now - this.#lastCpuTick >= CPU_LOOK_MS) this.#lookAtCpu(now)
    this.#ran.clear()
    this.#lastTick = now
  }

  #lookAtCpu(now: number): void {
    this.#lastCpuTick = now
    this.#lastCpu = this.#cpu()
  }

  #tell(blockedMs: number, cpuMs: number): void {
    const tasks = [...this.#ran].sort(([, a], [, b]) => b - a)
    const [longest, longestMs] = tasks[0] ?? ['other', 0]
    // What took less than half of the time did not block alone.
    this.#blocks.inc({ task: longestMs * 2 >= blockedMs ? longest : 'other' })
    const ran = Object.fromEntries(tasks.slice(0, MAX_TASKS).map(([task, ms]) => [task, Math.round(ms)]))
    this.#logger.warn({ blockedMs: Math.round(blockedMs), cpuMs: Math.round(cpuMs), ran }, 'the event loop was blocked')
  }
}
