import type { MessagesByType } from '../baseline-server.js'
import { ChildRequests } from './child-requests.js'

/** Where simulated proxies connect. */
export interface ProxyServer {
  readonly port: number
  readonly serverName: string
  /** PEM. */
  readonly roots: string
}

/** One proxy with what the injector would have given it. */
export interface PreparedProxy {
  readonly index: number
  readonly nodeId: string
  readonly chain: string
  readonly privateKey: string
}

/** Messages of a first synchronisation, by proxy and type. */
export type RecordedAnswers = readonly (readonly [index: number, types: MessagesByType])[]

/** What a process of simulated proxies is told. */
export type ProxiesCommand =
  | {
      readonly type: 'connect'
      readonly id: number
      readonly server: ProxyServer
      readonly proxies: readonly PreparedProxy[]
      /** Proxies whose first answers are kept. */
      readonly record?: readonly number[]
      /** How often a connection that ends before its proxy is configured is created again; 0 if absent. */
      readonly retries?: number
    }
  | { readonly type: 'configured'; readonly id: number; readonly count: number }
  | {
      readonly type: 'await'
      readonly id: number
      readonly count: number
      readonly typeUrl: string
      readonly name: string
    }
  | { readonly type: 'counters' | 'recorded' | 'disconnect'; readonly id: number }
  | { readonly type: 'close' }

/** What it says. */
export type ProxiesReport =
  | { readonly type: 'started' }
  | { readonly type: 'done'; readonly id: number }
  | {
      readonly type: 'times'
      readonly id: number
      /** Of the monotonic clock, in nanoseconds. */
      readonly times: readonly bigint[]
      /** What the first of them acknowledged. */
      readonly message?: Uint8Array | undefined
      readonly errors: readonly string[]
    }
  | {
      readonly type: 'counters'
      readonly id: number
      readonly counters: readonly (readonly [index: number, octets: number, responses: number, configured: boolean])[]
      /** What some of those wait for that are not configured, in words. */
      readonly awaited: readonly string[]
      /** Of the last acknowledgement. */
      readonly lastAt: bigint
      readonly errors: readonly string[]
    }
  | { readonly type: 'recorded'; readonly id: number; readonly answers: RecordedAnswers }

type Report<T extends ProxiesReport['type']> = Extract<ProxiesReport, { type: T }>

/** What proxies have received since they connected. */
export interface Counters {
  readonly of: ReadonlyMap<number, { readonly octets: number; readonly responses: number }>
  /** Of the last acknowledgement; nanoseconds of the monotonic clock. */
  readonly lastAt: bigint
}

/** When proxies acknowledged something. */
export interface Reached {
  /** Milliseconds. */
  readonly times: readonly number[]
  /** The message that brought it to the first of them. */
  readonly message: Uint8Array
}

/** Simulated proxies in their own process. */
export class Proxies {
  readonly #child: ChildRequests
  #count = 0

  private constructor(child: ChildRequests) {
    this.#child = child
  }

  /** @param program - the bundle of proxies-main.ts */
  static async start(program: string): Promise<Proxies> {
    const child = new ChildRequests(program)
    await child.first()
    return new Proxies(child)
  }

  /**
   * Connects all at once. Gives the milliseconds after which each was configured.
   *
   * @param options - which first answers are kept, and how often connections that end too early are created again, as proxies do that are refused for a moment
   */
  async connect(
    server: ProxyServer,
    proxies: readonly PreparedProxy[],
    timeoutMs: number,
    options: { readonly record?: readonly number[]; readonly retries?: number } = {},
  ): Promise<readonly number[]> {
    this.#count = proxies.length
    const start = process.hrtime.bigint()
    await this.#child.ask({ type: 'connect', server, proxies, ...options })
    const reached = this.#child.ask<Report<'times'>>({ type: 'configured', count: proxies.length })
    const { times } = await this.#within(reached, timeoutMs, 'were configured')
    return milliseconds(times, start)
  }

  /**
   * Has something done, and tells when each of `count` proxies had acknowledged a resource, from then on.
   *
   * @param act - gives the time at which it did it, in nanoseconds of the monotonic clock
   */
  async reached(
    resource: { readonly typeUrl: string; readonly name: string; readonly count: number },
    act: () => Promise<bigint>,
    timeoutMs: number,
  ): Promise<Reached> {
    const reached = this.#child.ask<Report<'times'>>({ type: 'await', ...resource })
    // Messages to a process arrive in their order: anyone who answers a later one has seen the one before.
    await this.#child.ask({ type: 'counters' })
    const start = await act()
    const { times, message } = await this.#within(reached, timeoutMs, `acknowledged ${resource.name}`)
    return { times: milliseconds(times, start), message: message ?? new Uint8Array() }
  }

  /** Waits until nothing has been acknowledged for a while, and gives the time of the last that was. */
  async quiet(forMs: number): Promise<bigint> {
    for (;;) {
      const { lastAt } = await this.counters()
      const idleMs = Number(process.hrtime.bigint() - lastAt) / 1e6
      if (idleMs >= forMs) return lastAt
      await new Promise((resolve) => setTimeout(resolve, forMs - idleMs))
    }
  }

  async counters(): Promise<Counters> {
    const { counters, lastAt, errors } = await this.#child.ask<Report<'counters'>>({ type: 'counters' })
    if (errors.length > 0) throw new Error(errors.join('; '))
    return { of: new Map(counters.map(([index, octets, responses]) => [index, { octets, responses }])), lastAt }
  }

  /** First answers of the proxies that were named when they connected. */
  async recorded(): Promise<RecordedAnswers> {
    return (await this.#child.ask<Report<'recorded'>>({ type: 'recorded' })).answers
  }

  /** Ends all connections as proxies that are killed do. */
  async disconnect(): Promise<void> {
    await this.#child.ask({ type: 'disconnect' })
  }

  /** Lets its process read for a while and stops it for another, in turns, until the signal aborts. */
  async slow(options: { readonly readMs: number; readonly stopMs: number }, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.stall()
      await new Promise((resolve) => setTimeout(resolve, options.stopMs))
      this.resume()
      await new Promise((resolve) => setTimeout(resolve, options.readMs))
    }
  }

  /** Stops its process, so that nothing is read and nothing answered. */
  stall(): void {
    process.kill(this.#child.pid, 'SIGSTOP')
  }

  /** Lets it continue. */
  resume(): void {
    process.kill(this.#child.pid, 'SIGCONT')
  }

  async close(): Promise<void> {
    await this.#child.close()
  }

  async #within(reached: Promise<Report<'times'>>, timeoutMs: number, what: string): Promise<Report<'times'>> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), timeoutMs)
    })
    const report = await Promise.race([reached, late])
    clearTimeout(timer)
    if (report === undefined) {
      const { counters, awaited, errors } = await this.#child.ask<Report<'counters'>>({ type: 'counters' })
      const done = counters.filter(([, , , configured]) => configured).length
      throw new Error(
        `not all proxies ${what} within ${timeoutMs} ms: ${done} of ${this.#count} are configured; ${[...awaited, ...errors].join('; ')}`,
      )
    }
    if (report.errors.length > 0) throw new Error(report.errors.join('; '))
    return report
  }
}

function milliseconds(times: readonly bigint[], start: bigint): readonly number[] {
  return times.map((time) => Number(time - start) / 1e6)
}
