import type { Credential } from '@osm-ts/driver-api'

import type { YamlFolderSource } from '../spec/yaml-folder.js'
import { nameKey } from '../namespaced-name.js'
import { SecretCache } from './secret-cache.js'
import type { SecretName, SecretSource, SecretStates } from './secret-source.js'

/** Secrets of a folder of YAML files. They are read along with the folder. */
export class FolderSecrets implements SecretSource {
  readonly #folder: Pick<YamlFolderSource, 'secrets' | 'onSecrets'>
  readonly #cache: SecretCache
  #followed: ReadonlyMap<string, SecretName> = new Map()

  /**
   * @param folder - outlives this
   * @param onFault - told of a listener that throws
   */
  constructor(folder: Pick<YamlFolderSource, 'secrets' | 'onSecrets'>, onFault: (error: unknown) => void) {
    this.#folder = folder
    this.#cache = new SecretCache(onFault)
    folder.onSecrets(() => this.#read())
  }

  follow(names: readonly SecretName[]): void {
    const wanted = new Map(names.map((name) => [nameKey(name), name]))
    for (const [key, name] of this.#followed) if (!wanted.has(key)) this.#cache.put(name, undefined)
    this.#followed = wanted
    this.#read()
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

  /** A member of a Secret; undefined if it is not there, or its file is open to other users. Secret. */
  text(name: SecretName, key: string): string | undefined {
    return this.#folder.secrets().get(nameKey(name))?.texts.get(key)
  }

  settled(): Promise<void> {
    return Promise.resolve()
  }

  #read(): void {
    const secrets = this.#folder.secrets()
    for (const [key, name] of this.#followed)
      this.#cache.put(name, secrets.get(key)?.reading ?? { usable: false, fault: 'is not written down in the folder' })
  }
}
