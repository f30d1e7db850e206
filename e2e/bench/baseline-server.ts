import { ChildRequests } from './scale/child-requests.js'

/** Messages of each type. */
export type MessagesByType = readonly (readonly [typeUrl: string, messages: readonly Uint8Array[]])[]

/** What a server shows to clients, and whom it lets in, all PEM. */
export interface ServerKey {
  readonly chain: string
  readonly privateKey: string
  readonly clientRoots: string
}

/** What the process of the floor is told. */
export type FloorCommand = { readonly id: number } & (
  | { readonly type: 'start'; readonly key: ServerKey }
  | { readonly type: 'start-reviews'; readonly key: ServerKey; readonly api: string; readonly namespace: string }
  | { readonly type: 'answers'; readonly nodeIds: readonly string[]; readonly types: MessagesByType }
  | { readonly type: 'push'; readonly nodeIds: readonly string[]; readonly message: Uint8Array }
  | { readonly type: 'read'; readonly url: string }
  | { readonly type: 'count' | 'longest-block' | 'close' }
)

/**
 * The floor of all benchmarks: a process that does the least that the measured program could do, and knows nothing of a mesh. It is a bare gRPC server that
 * writes bytes that it is given, a bare webhook, a bare reader of the API server, or a process that does nothing.
 */
export class BaselineServer {
  readonly pid: number
  readonly #child: ChildRequests

  private constructor(child: ChildRequests) {
    this.#child = child
    this.pid = child.pid
  }

  /** @param program - the bundle of floor-main.ts */
  static async start(program: string): Promise<BaselineServer> {
    const child = new ChildRequests(program)
    await child.first()
    return new BaselineServer(child)
  }

  /** Listens for gRPC. Gives the port. */
  async listen(key: ServerKey): Promise<number> {
    return (await this.#child.ask<{ readonly port: number }>({ type: 'start', key })).port
  }

  /** Listens for reviews of a webhook, and writes a Secret to the API server for each, see floor-reviews.ts. Gives the port. */
  async listenForReviews(key: ServerKey, api: string, namespace: string): Promise<number> {
    return (await this.#child.ask<{ readonly port: number }>({ type: 'start-reviews', key, api, namespace })).port
  }

  /** What these proxies are answered, by type. */
  async answer(nodeIds: readonly string[], types: MessagesByType): Promise<void> {
    await this.#child.ask({ type: 'answers', nodeIds, types })
  }

  /** Writes one message to the streams of these proxies. Gives the time of the monotonic clock at which it began. */
  async push(nodeIds: readonly string[], message: Uint8Array): Promise<bigint> {
    return BigInt((await this.#child.ask<{ readonly at: string }>({ type: 'push', nodeIds, message })).at)
  }

  /** Watches a collection of the API server, parses each line and drops it. */
  async read(url: string): Promise<void> {
    await this.#child.ask({ type: 'read', url })
  }

  /** Lines that it has read. */
  async lines(): Promise<number> {
    return (await this.#child.ask<{ readonly lines: number }>({ type: 'count' })).lines
  }

  /** Longest time in milliseconds for which its event loop was busy with one thing, since this was last requested. */
  async longestBlockMs(): Promise<number> {
    return (await this.#child.ask<{ readonly longest: number }>({ type: 'longest-block' })).longest
  }

  async close(): Promise<void> {
    await this.#child.close()
  }
}
