import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withLock } from '../../../tools/lib/lock.mjs'

/**
 * What test files have in common although they keep to names of their own. `meshes`: whether there are meshes; held together by every
 * mesh, alone by who must be the only one. `nodes`: whether all nodes take pods; held together by who has to have a pod on a certain
 * one, alone by who takes one away.
 */
export type SharedResource = 'meshes' | 'nodes'

/** Gives back what is held. */
export type Release = () => void

const pollMs = 100
const separator = '.'

/**
 * Keeps test files apart that run side by side, in processes of their own. What a process holds that has died is held no more.
 * Who waits to be alone goes before those who come later.
 */
export class ClusterLocks {
  readonly #folder: string
  readonly #isAlive: (pid: number) => boolean
  #taken = 0

  /** @param folder - common to all files of a run */
  constructor(folder: string, isAlive: (pid: number) => boolean = isRunning) {
    this.#folder = folder
    this.#isAlive = isAlive
  }

  /** Those of another cluster of the run. */
  ofAnother(cluster: string): ClusterLocks {
    return new ClusterLocks(join(this.#folder, `cluster-${cluster}`), this.#isAlive)
  }

  /** Waits for anyone who is alone with it, or wants to be, and holds it together with others. */
  share(resource: SharedResource): Promise<Release> {
    return this.#unlessAlone(resource, 'together')
  }

  /** Waits for all others, and holds it alone. */
  async claim(resource: SharedResource): Promise<Release> {
    const held = await this.#unlessAlone(resource, 'alone')
    while (this.#holders(resource, 'together').length > 0) await sleep(pollMs)
    return held
  }

  async #unlessAlone(resource: SharedResource, how: 'alone' | 'together'): Promise<Release> {
    for (;;) {
      const held = await this.#guarded(resource, () =>
        this.#holders(resource, 'alone').length > 0 ? undefined : this.#hold(resource, how),
      )
      if (held !== undefined) return held
      await sleep(pollMs)
    }
  }

  #guarded<T>(resource: SharedResource, work: () => T): Promise<T> {
    mkdirSync(join(this.#folder, resource), { recursive: true })
    return withLock(join(this.#folder, `${resource}.lock`), () => Promise.resolve(work()))
  }

  #hold(resource: SharedResource, how: 'alone' | 'together'): Release {
    this.#taken += 1
    const path = join(this.#folder, resource, [how, process.pid, this.#taken].join(separator))
    writeFileSync(path, '')
    return () => rmSync(path, { force: true })
  }

  #holders(resource: SharedResource, wanted: 'alone' | 'together'): readonly string[] {
    return readdirSync(join(this.#folder, resource)).filter((name) => {
      const [how, pid] = name.split(separator)
      return how === wanted && this.#isAlive(Number(pid))
    })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
