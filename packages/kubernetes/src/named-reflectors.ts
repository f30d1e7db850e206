import { type Clock, nameKey, type NamespacedName, pause, type Random } from '@osm-ts/core'
import type { KubernetesApi } from './api.js'
import { Reflector, type ReflectorOptions } from './reflector.js'

/** What {@link NamedReflectors} need. */
export interface NamedReflectorsOptions<N extends NamespacedName> {
  readonly api: KubernetesApi
  readonly clock: Clock
  readonly random: Random
  /** Ends the following. */
  readonly signal: AbortSignal
  /**
   * Says what is watched for a name, and who is told.
   *
   * @param isFollowed - false once the name is followed no more
   */
  readonly watch: (name: N, isFollowed: () => boolean) => Pick<ReflectorOptions, 'type' | 'selection' | 'target'>
}

/** A start waits no longer than this for what is followed. */
const START_WAIT_MS = 5_000

/** Follows what is named, each by its own watch: what lies beside it is never read. */
export class NamedReflectors<N extends NamespacedName> {
  readonly #options: NamedReflectorsOptions<N>
  readonly #followed = new Map<string, { readonly name: N; readonly stop: AbortController }>()
  readonly #running = new Set<Promise<void>>()

  constructor(options: NamedReflectorsOptions<N>) {
    this.#options = options
  }

  /** Follows these names from now on, and no others. Returns those that are followed no more. */
  follow(names: readonly N[]): readonly N[] {
    const wanted = new Map(names.map((name) => [nameKey(name), name]))
    const left = [...this.#followed].filter(([key]) => !wanted.has(key))
    for (const [key, { stop }] of left) {
      stop.abort()
      this.#followed.delete(key)
    }
    for (const [key, name] of wanted) if (!this.#followed.has(key)) this.#start(key, name)
    return left.map(([, { name }]) => name)
  }

  /**
   * Resolves when everything that is followed now is known, or after a few seconds.
   *
   * @param subscribe - calls the listener when more may be known. The result ends it.
   */
  async settled(
    isKnown: (name: N) => boolean,
    subscribe: (listener: () => void) => () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const waiting = [...this.#followed.values()]
    const over = new AbortController()
    const isSettled = (): boolean => waiting.every(({ name, stop }) => stop.signal.aborted || isKnown(name))
    const leave = subscribe(() => {
      if (isSettled()) over.abort()
    })
    try {
      if (!isSettled()) await pause(this.#options.clock, START_WAIT_MS, AbortSignal.any([signal, over.signal]))
    } finally {
      leave()
    }
  }

  /** Resolves when nothing is followed any more, after the signal has aborted. */
  async finished(): Promise<void> {
    await Promise.all(this.#running)
  }

  #start(key: string, name: N): void {
    const { api, clock, random, signal, watch } = this.#options
    const stop = new AbortController()
    this.#followed.set(key, { name, stop })
    const reflector = new Reflector({ api, clock, random, ...watch(name, () => !stop.signal.aborted) })
    const run = reflector.run(AbortSignal.any([signal, stop.signal])).finally(() => this.#running.delete(run))
    this.#running.add(run)
  }
}
