import { ChildRequests } from './child-requests.js'

/** What the process of the floor is told. */
export type FloorCommand =
  | {
      readonly type: 'start'
      readonly id: number
      readonly chain: string
      readonly privateKey: string
      readonly clientRoots: string
    }
  | {
      readonly type: 'answers'
      readonly id: number
      readonly nodeIds: readonly string[]
      readonly types: readonly (readonly [typeUrl: string, messages: readonly Uint8Array[]])[]
    }
  | { readonly type: 'push'; readonly id: number; readonly nodeIds: readonly string[]; readonly message: Uint8Array }
  | { readonly type: 'close' }

/** What it says. */
export type FloorReport =
  | { readonly type: 'listening' }
  | { readonly type: 'started'; readonly id: number; readonly port: number }
  | { readonly type: 'done'; readonly id: number; readonly at: string }

/** A bare gRPC server in its own process, which writes what it is given. */
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

  /** Listens with a certificate, all PEM. Gives the port. */
  async listen(tls: { readonly chain: string; readonly privateKey: string; readonly clientRoots: string }) {
    return (await this.#child.ask<Extract<FloorReport, { type: 'started' }>>({ type: 'start', ...tls })).port
  }

  /** What these proxies are answered, by type. */
  async answer(
    nodeIds: readonly string[],
    types: readonly (readonly [typeUrl: string, messages: readonly Uint8Array[]])[],
  ): Promise<void> {
    await this.#child.ask({ type: 'answers', nodeIds, types })
  }

  /** Writes one message to the streams of these proxies. Gives the time of the monotonic clock at which it began. */
  async push(nodeIds: readonly string[], message: Uint8Array): Promise<bigint> {
    return BigInt(
      (await this.#child.ask<Extract<FloorReport, { type: 'done' }>>({ type: 'push', nodeIds, message })).at,
    )
  }

  async close(): Promise<void> {
    await this.#child.close()
  }
}
