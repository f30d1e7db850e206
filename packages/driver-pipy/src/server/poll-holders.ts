import type { Socket } from 'node:net'

interface Holder {
  /** Revision that the worker behind the connection had when it asked. */
  readonly has: string
  /** `idle`: its poll ended without anything new. */
  state: 'waiting' | 'sent' | 'idle'
}

/** Which revision is in force behind each connection on which a worker polls. */
export class PollHolders {
  /** The one that asked last is the last one. */
  readonly #holders = new Map<Socket, Holder>()

  /** A poll has come. */
  asked(socket: Socket, has: string): void {
    if (!this.#holders.delete(socket)) socket.once('close', () => this.#holders.delete(socket))
    this.#holders.set(socket, { has, state: 'waiting' })
  }

  /** A poll was answered. */
  answered(socket: Socket, sent: boolean): void {
    const holder = this.#holders.get(socket)
    if (holder !== undefined) holder.state = sent ? 'sent' : 'idle'
  }

  /**
   * True if the revision is in force everywhere: the worker that asked last has it, as many as there are have it, and nobody was sent something that has not
   * come back since. A connection on which nobody waits any more may belong to scripts that were replaced.
   */
  allHave(revision: string, workers: number): boolean {
    const holders = [...this.#holders.values()]
    const having = holders.filter(({ has }) => has === revision)
    const others = holders.filter(({ has, state }) => has !== revision && state !== 'idle')
    return holders.at(-1)?.has === revision && having.length >= workers && others.length === 0
  }
}
