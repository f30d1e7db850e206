import type { Credential, Logger } from '@osm-ts/driver-api'

import type { Clock, Random } from '../certificates/clock.js'
import type { KubernetesApi, KubernetesObject } from '../kubernetes/api.js'
import { pause } from '../kubernetes/backoff.js'
import { messageOf } from '../kubernetes/client/error-facts.js'
import { isKubernetesError } from '../kubernetes/kubernetes-error.js'
import { Reflector, type ReflectorTarget, type Relist } from '../kubernetes/reflector.js'
import { resourceTypes } from '../kubernetes/resource-types.js'
import { readClientCredential, type SecretReading } from './client-credential.js'
import { SecretBook, secretKey } from './secret-book.js'
import type { SecretName, SecretSource, SecretStates } from './secret-source.js'

/** What {@link KubernetesSecrets} need. */
export interface KubernetesSecretsOptions {
  readonly api: KubernetesApi
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Ends the following. */
  readonly signal: AbortSignal
}

/** A start waits no longer than this for Secrets: what is not known by then is closed until it is. */
const PATIENCE_MS = 5_000

/** Secrets of a cluster. Each is asked for by its name: what lies beside it is never read. */
export class KubernetesSecrets implements SecretSource {
  readonly #options: KubernetesSecretsOptions
  readonly #book: SecretBook
  readonly #followed = new Map<string, { readonly name: SecretName; readonly stop: AbortController }>()
  readonly #running = new Set<Promise<void>>()

  constructor(options: KubernetesSecretsOptions) {
    this.#options = options
    this.#book = new SecretBook((error) =>
      options.logger.error({ error: messageOf(error) }, 'a listener to Secrets failed'),
    )
  }

  follow(names: readonly SecretName[]): void {
    const wanted = new Map(names.map((name) => [secretKey(name), name]))
    for (const [key, { name, stop }] of this.#followed) {
      if (wanted.has(key)) continue
      stop.abort()
      this.#followed.delete(key)
      this.#book.put(name, undefined)
    }
    for (const [key, name] of wanted) if (!this.#followed.has(key)) this.#start(key, name)
  }

  states(): SecretStates {
    return this.#book.states
  }

  credential(name: SecretName): Credential | undefined {
    return this.#book.credential(name)
  }

  subscribe(listener: () => void): () => void {
    return this.#book.subscribe(listener)
  }

  async settled(signal: AbortSignal): Promise<void> {
    const names = [...this.#followed.values()].map(({ name }) => name)
    const over = new AbortController()
    const isSettled = (): boolean => names.every((name) => this.#book.knows(name))
    const leave = this.#book.subscribe(() => {
      if (isSettled()) over.abort()
    })
    try {
      if (!isSettled()) await pause(this.#options.clock, PATIENCE_MS, AbortSignal.any([signal, over.signal]))
    } finally {
      leave()
    }
  }

  /** Resolves when nothing is followed any more, after the signal has aborted. */
  async finished(): Promise<void> {
    await Promise.all(this.#running)
  }

  #start(key: string, name: SecretName): void {
    const { api, clock, random, logger, signal } = this.#options
    const stop = new AbortController()
    this.#followed.set(key, { name, stop })
    const target = new FollowedSecret(
      name,
      (reading) => {
        if (!stop.signal.aborted) this.#book.put(name, reading)
      },
      logger,
    )
    const selection = { namespace: name.namespace, fieldSelector: `metadata.name=${name.name}` }
    const reflector = new Reflector({ api, type: resourceTypes.Secret, selection, clock, random, target })
    const run = reflector.run(AbortSignal.any([signal, stop.signal])).finally(() => this.#running.delete(run))
    this.#running.add(run)
  }
}

/** One Secret. */
class FollowedSecret implements ReflectorTarget {
  readonly #name: SecretName
  readonly #tell: (reading: SecretReading) => void
  readonly #logger: Logger
  #read = false
  #complained = false

  constructor(name: SecretName, tell: (reading: SecretReading) => void, logger: Logger) {
    this.#name = name
    this.#tell = tell
    this.#logger = logger
  }

  relist(): Relist {
    let found: KubernetesObject | undefined
    return {
      add: (objects) => {
        found ??= objects.find(({ metadata }) => metadata.name === this.#name.name)
      },
      commit: () => this.#take(found),
    }
  }

  change({ type, object }: Parameters<ReflectorTarget['change']>[0]): void {
    if (object.metadata.name === this.#name.name) this.#take(type === 'DELETED' ? undefined : object)
  }

  contact(): void {
    this.#complained = false
  }

  /** What was read stays in force while the API server can't be reached. */
  fault(error: Error): void {
    if (!this.#complained) {
      const code = isKubernetesError(error) ? error.code : 'OSM_KUBERNETES_FAILED'
      this.#logger.warn({ ...this.#name, code, error: error.message }, 'a Secret can not be followed; trying again')
    }
    this.#complained = true
    if (!this.#read) this.#tell({ usable: false, fault: `can not be read: ${error.message}` })
  }

  ended(): void {
    // Nobody counts these.
  }

  #take(object: KubernetesObject | undefined): void {
    this.#read = true
    this.#tell(object === undefined ? { usable: false, fault: 'does not exist' } : readClientCredential(dataOf(object)))
  }
}

/** Decoded. */
function dataOf({ data }: KubernetesObject): Readonly<Record<string, string>> {
  const members = Object.entries((data ?? {}) as Readonly<Record<string, string>>) // what a Secret's data is
  return Object.fromEntries(members.map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]))
}
