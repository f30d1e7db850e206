import type { Logger, ProxyRef } from '@osm-ts/driver-api'
import type { Refusal } from '@osm-ts/driver-api/policy'

import type { CredentialNeed } from '../config/further-credentials.js'
import type { Offer } from './document-state.js'
import type { WorkerConditions } from './worker-conditions.js'

/** What an error code says of credentials. */
const reasons = {
  OSM_PIPY_CREDENTIAL_MISSING: 'is unavailable',
  OSM_PIPY_CREDENTIAL_UNUSABLE: 'cannot be used by Pipy',
} as const

/** Which of the credentials that a policy names a worker goes without, and who is told of it. */
export class WorkerCredentials {
  readonly #proxy: ProxyRef
  readonly #logger: Logger
  readonly #conditions: WorkerConditions
  /** What the worker says, and of which document. */
  #unusable: { readonly revision: string; readonly keys: ReadonlySet<string> } | undefined
  #told = ''

  constructor(proxy: ProxyRef, logger: Logger, conditions: WorkerConditions) {
    this.#proxy = proxy
    this.#logger = logger
    this.#conditions = conditions
  }

  /** The worker has that revision, and cannot use these credentials of it. */
  note(revision: string, unusable: readonly string[]): void {
    this.#unusable = { revision, keys: new Set(unusable) }
  }

  /** What the worker does not do of an offer: what its document leaves out, and what is closed for want of a credential. Tells anyone who is to know. */
  refusalsOf(offer: Offer): readonly Refusal[] {
    const unusable = offer.revision === this.#unusable?.revision ? this.#unusable.keys : new Set<string>()
    const lacking = {
      OSM_PIPY_CREDENTIAL_MISSING: offer.missing,
      OSM_PIPY_CREDENTIAL_UNUSABLE: offer.needs.filter(({ key }) => unusable.has(key)),
    }
    const closed = (Object.keys(reasons) as (keyof typeof reasons)[]).flatMap((code) => {
      const words = lacking[code].map((need) => wordsOf(need, reasons[code]))
      this.#conditions.set(code, words.length === 0 ? undefined : words.join('; '))
      return lacking[code].flatMap(({ users }, i) =>
        users.map((user) => ({ ...user, message: `${words[i] ?? ''}; what needs it is closed` })),
      )
    })
    this.#log(lacking)
    return [...offer.refusals, ...closed]
  }

  #log(lacking: Readonly<Record<keyof typeof reasons, readonly CredentialNeed[]>>): void {
    const before = this.#told
    this.#told = JSON.stringify(lacking)
    if (before === this.#told) return
    for (const code of Object.keys(reasons) as (keyof typeof reasons)[]) {
      const credentials = lacking[code].map(({ key }) => key)
      if (credentials.length > 0)
        this.#logger.warn({ code, proxy: this.#proxy.uuid, credentials }, 'what needs a credential is closed')
    }
  }
}

function wordsOf({ ref }: CredentialNeed, why: string): string {
  return ref.kind === 'secret'
    ? `the content of Secret ${ref.namespace}/${ref.name} ${why}`
    : `the value of a header, ${ref.name}, ${why}`
}
