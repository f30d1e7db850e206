import { createHash } from 'node:crypto'

import {
  isPlainObject,
  machineAudience,
  type MachineErrorCode,
  MAX_TOKEN_TTL_MS,
  MAX_TOKENS,
  newProxyUUID,
  type Redeemed,
  type Snapshot,
  type TokenUse,
} from '@osm-ts/core'
import {
  isKubernetesError,
  type KubernetesApi,
  type KubernetesObject,
  listAll,
  meshObjectLabels,
  resourceTypes,
  reviewToken,
} from '@osm-ts/kubernetes'
import { OsmError, type ProxyUUID, type ServiceAccountRef } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { accountOf, labelsOfAccount, MAX_BY_ACCOUNTS } from './account-permission.js'
import { machineRefusals } from './machine.js'

/** What tokens of service accounts are checked by. */
export interface AccountTokensOptions {
  readonly api: Pick<KubernetesApi, 'post' | 'list' | 'get' | 'create' | 'delete'>
  readonly meshName: string
  readonly osmNamespace: string
  /** The service accounts of the mesh. */
  readonly current: () => Snapshot | undefined
  /** Machines of a namespace. */
  readonly machinesOf: (namespace: string) => number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

interface Claims {
  readonly audiences: readonly string[]
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

const TIMEOUT_MS = 10_000
const ACCOUNT = /^system:serviceaccount:([a-z0-9-]{1,63}):([a-z0-9.-]{1,253})$/
/** Label of Leases that record by which machine a token was used. */
const USE_LABEL = 'openservicemesh.io/machine-token-use'
const USE_ANNOTATION = 'openservicemesh.io/machine-token-use'
const ACCOUNT_ANNOTATION = 'openservicemesh.io/issued-for'
const EXPIRES_ANNOTATION = 'openservicemesh.io/expires-at'
/** A record outlives its token by this much: the clock of the API server, which decides, may be behind. */
const GRACE_MS = 5 * 60_000

/**
 * Admits machines by tokens of service accounts. The API server says whose a token is, and the account itself whether machines may have its identity, and
 * with which labels.
 *
 * A token admits one machine. Its use is a Lease in the namespace of the control plane, named by a hash of the token: of several replicas exactly one creates it.
 */
export class AccountTokens {
  readonly #options: AccountTokensOptions

  constructor(options: AccountTokensOptions) {
    this.#options = options
  }

  /**
   * Uses up a token for a key. A machine that has lost the answer may ask again with the same key.
   *
   * @param key - hash of the public key, whose owner has proven to hold it
   * @throws OsmError with code `OSM_MACHINE_TOKEN*` or `OSM_MACHINE_ACCOUNT`
   */
  async redeem(token: string, key: string): Promise<Redeemed> {
    const { meshName, now } = this.#options
    const audience = machineAudience(meshName)
    const claims = claimsOf(token)
    if (claims === undefined) throw refuse('OSM_MACHINE_TOKEN', 'is none')
    // Told apart here for a better error. What counts is the review.
    if (!claims.audiences.includes(audience))
      throw refuse(
        'OSM_MACHINE_TOKEN_AUDIENCE',
        `is for another purpose; make one by kubectl create token --audience ${audience}`,
      )
    if (claims.expiresAt - now() > MAX_TOKEN_TTL_MS)
      throw refuse('OSM_MACHINE_TOKEN', `is valid for more than ${MAX_TOKEN_TTL_MS / 3_600_000} h; make one for less`)
    const account = await this.#attempt(() => this.#review(token, audience, claims))
    const labels = labelsOfAccount(accountOf(this.#options.current(), account))
    const { namespace, name: serviceAccount } = account
    if (this.#options.machinesOf(namespace) >= MAX_BY_ACCOUNTS)
      throw machineRefusals.limitOf(namespace, MAX_BY_ACCOUNTS)
    const use = await this.#attempt(() => this.#use(token, claims, account, { key, uuid: newProxyUUID() }))
    if (use.key !== key)
      throw refuse(
        'OSM_MACHINE_TOKEN_USED',
        'was used before by another machine; if that was not you, remove that machine, and make another token',
      )
    return { namespace, serviceAccount, labels, uuid: use.uuid as ProxyUUID } // stored as it was made
  }

  /** Whose the token is, as the API server says. */
  async #review(token: string, audience: string, { expiresAt }: Claims): Promise<ServiceAccountRef> {
    const { api, now } = this.#options
    const review = await reviewToken(api, token, audience, AbortSignal.timeout(TIMEOUT_MS))
    if (review === undefined) {
      if (now() >= expiresAt)
        throw refuse('OSM_MACHINE_TOKEN_EXPIRED', `has expired at ${new Date(expiresAt).toISOString()}`)
      throw refuse('OSM_MACHINE_TOKEN', 'is refused by the API server')
    }
    // An authenticator that does not know of audiences names none.
    if (!review.audiences.includes(audience))
      throw refuse('OSM_MACHINE_TOKEN_AUDIENCE', 'has an audience that the API server does not confirm')
    const [, namespace, name] = ACCOUNT.exec(review.user.username) ?? []
    if (namespace === undefined || name === undefined)
      throw refuse('OSM_MACHINE_TOKEN', 'is of a user, not of a service account')
    return { namespace, name }
  }

  /** Records who uses a token, and resolves to who has used it first. */
  async #use(token: string, { expiresAt }: Claims, account: ServiceAccountRef, use: TokenUse): Promise<TokenUse> {
    const { api, meshName, osmNamespace: namespace } = this.#options
    const hash = createHash('sha256').update(token).digest('hex')
    const name = `osm-machine-token-${meshName}-${hash.slice(0, 32)}`
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    await this.#sweep(account.namespace, signal)
    try {
      const metadata = {
        namespace,
        name,
        labels: { ...meshObjectLabels(meshName), [USE_LABEL]: 'true' },
        annotations: {
          [USE_ANNOTATION]: JSON.stringify(use),
          [EXPIRES_ANNOTATION]: String(expiresAt),
          [ACCOUNT_ANNOTATION]: `${account.namespace}/${account.name}`,
        },
      }
      const manifest = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: {} }
      await api.create(resourceTypes.Lease, manifest, { signal, answer: 'metadata' })
      return use
    } catch (error) {
      if (!isKubernetesError(error) || !error.conflict) throw error
    }
    const before = await api.get(resourceTypes.Lease, { namespace, name }, signal)
    const recorded = before?.metadata.annotations?.[USE_ANNOTATION]
    // Gone since a moment ago: only what has expired is removed.
    if (recorded === undefined) throw refuse('OSM_MACHINE_TOKEN_EXPIRED', 'has expired')
    return JSON.parse(recorded) as TokenUse // written by a controller of this mesh
  }

  /** Removes records of tokens that have expired, and refuses another one where too many are left, of a namespace or in all. */
  async #sweep(accountNamespace: string, signal: AbortSignal): Promise<void> {
    const { api, meshName, osmNamespace: namespace, now } = this.#options
    const labelSelector = Object.entries({ ...meshObjectLabels(meshName), [USE_LABEL]: 'true' })
      .map(([key, value]) => `${key}=${value}`)
      .join()
    const all = await listAll(api, resourceTypes.Lease, { namespace, labelSelector, answer: 'metadata' }, signal)
    const isOver = ({ metadata }: KubernetesObject): boolean =>
      Number(metadata.annotations?.[EXPIRES_ANNOTATION]) + GRACE_MS <= now()
    for (const { metadata } of all.filter(isOver))
      await api.delete(resourceTypes.Lease, { namespace, name: metadata.name }, { signal })
    const kept = all.filter((record) => !isOver(record))
    const own = kept.filter(({ metadata }) =>
      metadata.annotations?.[ACCOUNT_ANNOTATION]?.startsWith(`${accountNamespace}/`),
    )
    if (own.length >= MAX_BY_ACCOUNTS || kept.length >= MAX_TOKENS)
      throw new OsmError<MachineErrorCode>(
        'OSM_MACHINE_TOKENS',
        own.length >= MAX_BY_ACCOUNTS
          ? `machines have used ${own.length} tokens of service accounts of namespace ${accountNamespace} that have not expired, which is the limit; make tokens that expire earlier`
          : `namespace ${namespace} records ${kept.length} tokens of service accounts that have not expired, which is the limit`,
      )
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!isKubernetesError(error)) throw error
      throw new OsmError<MachineErrorCode>(
        'OSM_MACHINE_TOKEN_STORE',
        `the token of the service account cannot be checked: ${errorMessage(error)}`,
        { cause: error },
      )
    }
  }
}

/** What a JSON Web Token says of itself; undefined if it is none. Nothing of it is verified. */
function claimsOf(token: string): Claims | undefined {
  const [header, payload, signature, ...rest] = token.split('.')
  if (header === undefined || payload === undefined || signature === undefined || rest.length > 0) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    if (!isPlainObject(claims) || typeof claims.exp !== 'number') return undefined
    const audiences = [claims.aud].flat().filter((audience) => typeof audience === 'string')
    return { audiences, expiresAt: claims.exp * 1_000 }
  } catch {
    return undefined
  }
}

function refuse(code: MachineErrorCode, what: string): OsmError<MachineErrorCode> {
  return new OsmError(code, `the token of the service account ${what}`)
}
