import type { ServiceAccountRef } from '@osm-ts/driver-api'
import { Listeners } from '@osm-ts/driver-api/toolkit'

import type { CatalogUpdate } from './policy-computation.js'

/** Accounts that may be behind other services than before; undefined where any may. */
export type AnnouncedAccounts = readonly ServiceAccountRef[] | undefined

interface Announcement {
  readonly accounts: AnnouncedAccounts
}

/** Tells listeners that endpoints are to be asked for again: once for all updates whose policies were computed together. */
export class Announcements {
  readonly #listeners = new Listeners<AnnouncedAccounts>()
  /** What listeners are to be told of when all policies are computed. */
  #next: Announcement | undefined

  /** Calls the listener with the accounts of each announcement. The result ends it. */
  add(listener: (accounts: AnnouncedAccounts) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Notes whom an update concerns. */
  note(update: CatalogUpdate): void {
    this.#next = joined(this.#next, announcementOf(update))
  }

  /** Tells listeners what was noted since the last time. */
  announce(): void {
    const announcement = this.#next
    this.#next = undefined
    if (announcement !== undefined) this.#listeners.notify(announcement.accounts)
  }
}

/**
 * Whom an update may put behind other services. Endpoints providers name the accounts, also those that an edited object concerns: asking for all identities
 * after each edit would cost every change a walk over the mesh. Roots and Secrets change no endpoints.
 */
function announcementOf({ spec, config, endpoints }: CatalogUpdate): Announcement | undefined {
  if (config !== undefined) return { accounts: undefined }
  return spec === undefined && endpoints === undefined ? undefined : { accounts: endpoints?.accounts ?? [] }
}

function joined(first: Announcement | undefined, second: Announcement | undefined): Announcement | undefined {
  if (first === undefined || second === undefined) return first ?? second
  if (first.accounts === undefined || second.accounts === undefined) return { accounts: undefined }
  return { accounts: [...first.accounts, ...second.accounts] }
}
