import type { Credential, Logger } from '@osm-ts/driver-api'
import {
  type Clock,
  type Random,
  readClientCredential,
  SecretCache,
  type SecretName,
  type SecretReading,
  type SecretSource,
  type SecretStates,
} from '@osm-ts/core'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi, KubernetesObject, ObjectName } from '../api.js'
import { isKubernetesError } from '../kubernetes-error.js'
import { NamedReflectors } from '../named-reflectors.js'
import type { ReflectorTarget, Relist } from '../reflector.js'
import { resourceTypes } from '../resource-types.js'

/** What {@link KubernetesSecrets} need. */
export interface KubernetesSecretsOptions {
  readonly api: KubernetesApi
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Ends the following. */
  readonly signal: AbortSignal
}

/** Secrets of a cluster. Each is requested by its name: what lies beside it is never read. */
export class KubernetesSecrets implements SecretSource {
  readonly #cache: SecretCache
  readonly #reflectors: NamedReflectors<SecretName>

  constructor({ logger, ...options }: KubernetesSecretsOptions) {
    this.#cache = new SecretCache((error) =>
      logger.error({ error: errorMessage(error) }, 'a listener to Secrets failed'),
    )
    this.#reflectors = new NamedReflectors({
      ...options,
      watch: (name, isFollowed) => ({
        type: resourceTypes.Secret,
        selection: { namespace: name.namespace, fieldSelector: `metadata.name=${name.name}` },
        target: new FollowedSecret(
          name,
          (reading) => {
            if (isFollowed()) this.#cache.put(name, reading)
          },
          logger,
        ),
      }),
    })
  }

  follow(names: readonly SecretName[]): void {
    for (const name of this.#reflectors.follow(names)) this.#cache.put(name, undefined)
  }

  states(): SecretStates {
    return this.#cache.states
  }

  credential(name: SecretName): Credential | undefined {
    return this.#cache.credential(name)
  }

  subscribe(listener: () => void): () => void {
    return this.#cache.subscribe(listener)
  }

  /** What is not known by then is closed until it is. */
  settled(signal: AbortSignal): Promise<void> {
    return this.#reflectors.settled(
      (name) => this.#cache.knows(name),
      (listener) => this.subscribe(listener),
      signal,
    )
  }

  /** Resolves when nothing is followed any more, after the signal has aborted. */
  finished(): Promise<void> {
    return this.#reflectors.finished()
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
      this.#logger.warn({ ...this.#name, code, error: error.message }, 'a Secret cannot be followed; trying again')
    }
    this.#complained = true
    if (!this.#read) this.#tell({ usable: false, fault: `cannot be read: ${error.message}` })
  }

  ended(): void {
    // No one counts these.
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

/**
 * Reads a key of a Secret as text; undefined if there is no such Secret or key. Secret.
 *
 * @throws KubernetesError as the API does
 */
export async function readSecretText(
  api: KubernetesApi,
  { key, ...name }: ObjectName & { readonly key: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const secret = await api.get(resourceTypes.Secret, name, signal)
  const data = (secret?.data ?? {}) as Readonly<Record<string, unknown>> // the value is checked below
  const value = Object.hasOwn(data, key) ? data[key] : undefined
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : undefined
}
