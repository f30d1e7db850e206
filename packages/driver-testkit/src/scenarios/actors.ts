import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { eventually } from '@osm-ts/driver-api/toolkit'

import type { Answered, Asked, Call, CallAnswer, Hello } from '../actor/protocol.js'

interface Actor {
  readonly socket: Socket
  readonly pending: Map<number, (answer: CallAnswer) => void>
  /** Empty until it has said who it is. */
  instance: string
  address: string | undefined
}

/** The actors of all workloads: each connects when it starts, and calls others when it is told to. */
export class Actors {
  readonly path: string
  readonly #folder: string
  readonly #server: Server
  readonly #actors = new Map<string, readonly Actor[]>()
  #asked = 0

  private constructor(folder: string) {
    this.#folder = folder
    this.path = join(folder, 'control')
    this.#server = createServer((socket) => this.#welcome(socket))
  }

  static async open(): Promise<Actors> {
    const actors = new Actors(mkdtempSync(join(tmpdir(), 'osm-actors-')))
    await new Promise<void>((resolve, reject) => {
      actors.#server.once('error', reject)
      actors.#server.listen(actors.path, resolve)
    })
    // In transparent mode actors run as another user.
    chmodSync(actors.#folder, 0o711)
    chmodSync(actors.path, 0o777)
    return actors
  }

  /** Has a workload, or one instance of it, make a call. Waits for it if it is about to start. */
  async call(name: string, call: Call): Promise<CallAnswer> {
    const [actor] = await eventually(
      () => this.#named(name),
      ({ length }) => length > 0,
      { what: `that ${name} runs` },
    )
    if (actor === undefined) throw new Error(`${name} does not run`)
    this.#asked += 1
    const asked: Asked = { id: this.#asked, call }
    return new Promise((resolve) => {
      actor.pending.set(asked.id, resolve)
      actor.socket.write(`${JSON.stringify(asked)}\n`)
    })
  }

  /** True if as many instances of a workload are there as should be. */
  has(name: string, instances: number): boolean {
    return (this.#actors.get(name)?.length ?? 0) === instances
  }

  /**
   * The address by which others reach a workload, or one instance of it.
   *
   * @throws Error if it does not run, or has none but the loopback address
   */
  addressOf(name: string): string {
    const [actor] = this.#named(name)
    if (actor?.address === undefined)
      throw new Error(`${name} ${actor === undefined ? 'does not run' : 'has no address of its own'}`)
    return actor.address
  }

  async close(): Promise<void> {
    for (const { socket } of [...this.#actors.values()].flat()) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Of a workload, or the one that is the instance of that name. */
  #named(name: string): readonly Actor[] {
    return this.#actors.get(name) ?? [...this.#actors.values()].flat().filter(({ instance }) => instance === name)
  }

  #welcome(socket: Socket): void {
    const actor: Actor = { socket, pending: new Map(), instance: '', address: undefined }
    let name: string | undefined
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      if (name !== undefined)
        this.#actors.set(
          name,
          (this.#actors.get(name) ?? []).filter((each) => each !== actor),
        )
      for (const resolve of actor.pending.values()) resolve({ status: 0, error: `${name ?? 'the actor'} has ended` })
    })
    createInterface({ input: socket }).on('line', (line) => {
      const message = JSON.parse(line) as Hello | Answered
      if ('actor' in message) {
        name = message.actor
        actor.instance = message.instance
        actor.address = message.address
        this.#actors.set(name, [...(this.#actors.get(name) ?? []), actor])
        return
      }
      actor.pending.get(message.id)?.(message.answer)
      actor.pending.delete(message.id)
    })
  }
}
