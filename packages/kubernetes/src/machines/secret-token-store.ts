import { OsmError } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'
import { type MachineErrorCode, MAX_TOKENS, type StoredToken, type TokenStore, type TokenUse } from '@osm-ts/core'

import type { KubernetesApi, KubernetesObject, ObjectName } from '../api.js'
import { isKubernetesError } from '../kubernetes-error.js'
import { listAll } from '../list-all.js'
import { instanceLabel, meshObjectLabels } from '../mesh-labels.js'
import { resourceTypes } from '../resource-types.js'

/** What a {@link SecretTokenStore} is made of. */
export interface SecretTokenStoreOptions {
  readonly api: Pick<KubernetesApi, 'list' | 'get' | 'create' | 'mergePatch' | 'delete'>
  readonly meshName: string
  /** Namespace of the control plane. */
  readonly namespace: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly signal: AbortSignal
}

const ID = /^[0-9a-f]{16}$/
const TOKEN = 'token.json'
const USE = 'use.json'
/** Label of Secrets that hold join tokens. */
const JOIN_TOKEN_LABEL = 'openservicemesh.io/join-token'
/** When a token expires, in milliseconds since 1970: enough to remove it without reading it. */
const EXPIRES_ANNOTATION = 'openservicemesh.io/expires-at'

/**
 * Tokens as Secrets in the namespace of the control plane, shared by all replicas: what is stored of each, and who has used it.
 *
 * A use is written over the version without one, so that of several replicas exactly one records it.
 */
export class SecretTokenStore implements TokenStore {
  readonly #options: SecretTokenStoreOptions

  constructor(options: SecretTokenStoreOptions) {
    this.#options = options
  }

  async add(token: StoredToken): Promise<void> {
    const { api, meshName, signal } = this.#options
    await this.#attempt(async () => {
      await this.#sweep()
      const manifest = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          ...this.#name(token.id),
          labels: { ...meshObjectLabels(meshName), [JOIN_TOKEN_LABEL]: 'true' },
          annotations: { [EXPIRES_ANNOTATION]: String(token.expiresAt) },
        },
        type: 'Opaque',
        data: { [TOKEN]: encoded(token) },
      }
      await api.create(resourceTypes.Secret, manifest, { signal, answer: 'metadata' })
    })
  }

  async read(id: string): Promise<StoredToken | undefined> {
    if (!ID.test(id)) return undefined
    const secret = await this.#attempt(() => this.#get(id))
    const token = secret && (decoded(secret, TOKEN) as StoredToken | undefined)
    const use = secret && (decoded(secret, USE) as TokenUse | undefined)
    return token && use ? { ...token, use } : token
  }

  async use({ id }: StoredToken, use: TokenUse): Promise<TokenUse | undefined> {
    return this.#attempt(async () => {
      const { api, signal } = this.#options
      const secret = await this.#get(id)
      if (secret === undefined) return undefined
      const before = decoded(secret, USE) as TokenUse | undefined
      if (before !== undefined) return before
      const { resourceVersion } = secret.metadata
      try {
        const patch = { metadata: { resourceVersion }, data: { [USE]: encoded(use) } }
        await api.mergePatch(resourceTypes.Secret, this.#name(id), patch, { signal, answer: 'metadata' })
        return use
      } catch (error) {
        if (!isKubernetesError(error) || !error.conflict) throw error
        const now = await this.#get(id)
        return now && (decoded(now, USE) as TokenUse | undefined)
      }
    })
  }

  /** Removes what has expired, without reading what the others hold. */
  async #sweep(): Promise<void> {
    const { api, namespace, meshName, now, signal } = this.#options
    const labelSelector = `${JOIN_TOKEN_LABEL}=true,${instanceLabel}=${meshName}`
    const all = await listAll(api, resourceTypes.Secret, { namespace, labelSelector, answer: 'metadata' }, signal)
    const isOver = ({ metadata }: KubernetesObject): boolean =>
      Number(metadata.annotations?.[EXPIRES_ANNOTATION]) <= now()
    const over = all.filter(isOver)
    for (const { metadata } of over)
      await api.delete(resourceTypes.Secret, { namespace, name: metadata.name }, { signal })
    const kept = all.length - over.length
    if (kept >= MAX_TOKENS)
      throw new OsmError<MachineErrorCode>(
        'OSM_MACHINE_TOKENS',
        `namespace ${namespace} has ${kept} join tokens that have not expired, which is the limit`,
      )
  }

  #get(id: string): Promise<KubernetesObject | undefined> {
    const { api, signal } = this.#options
    return api.get(resourceTypes.Secret, this.#name(id), signal)
  }

  #name(id: string): ObjectName {
    const { meshName, namespace } = this.#options
    return { namespace, name: `osm-join-token-${meshName}-${id}` }
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!isKubernetesError(error)) throw error
      throw new OsmError<MachineErrorCode>(
        'OSM_MACHINE_TOKEN_STORE',
        `join tokens in namespace ${this.#options.namespace} cannot be read or written: ${errorMessage(error)}`,
        { cause: error },
      )
    }
  }
}

function encoded(value: StoredToken | TokenUse): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

/** The content of a key; undefined if there is none, or it is none of ours. */
function decoded(secret: KubernetesObject, key: string): unknown {
  const data = secret.data as Readonly<Record<string, string>> | undefined // the API server checks Secrets
  try {
    return data?.[key] === undefined ? undefined : JSON.parse(Buffer.from(data[key], 'base64').toString())
  } catch {
    return undefined
  }
}
