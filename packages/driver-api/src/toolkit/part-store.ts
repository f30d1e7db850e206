import type { PolicySource } from '../controller-context.js'
import type { EndpointsPart, Part, PartHash } from '../policy/parts.js'
import { partRefs } from '../policy/references.js'

interface Entry {
  /** Proxies, and other parts in the store, that refer to it. */
  references: number
  part: Part | undefined
  /** What {@link PartStore.renew} gave while the part was loading: newer than what is loaded. */
  newer?: EndpointsPart
  /** Settles when the part and all that it refers to are there. */
  ready: Promise<void>
}

/**
 * The parts that live policies refer to, each once.
 *
 * Parts are counted along their references: a proxy holds a dozen, a set of a thousand upstreams holds its members for all proxies at once. So what a
 * thousand proxies see costs each of them a dozen counts.
 */
export class PartStore {
  readonly #fetch: PolicySource['parts']['get']
  readonly #entries = new Map<PartHash, Entry>()

  /** @param parts - where parts that are not held come from */
  constructor(parts: PolicySource['parts']) {
    this.#fetch = async (hash) => parts.get(hash)
  }

  /** Number of parts held. */
  get size(): number {
    return this.#entries.size
  }

  /**
   * Holds the parts and all parts that they refer to, until they are released as often. If one is unavailable, none is held.
   *
   * @throws OsmError with code `OSM_PART_UNKNOWN`
   */
  async retain(hashes: readonly PartHash[]): Promise<void> {
    const missing: Promise<void>[] = []
    for (const hash of hashes) {
      const { part, ready } = this.#hold(hash)
      if (part === undefined) missing.push(ready)
    }
    // Nearly all that a proxy refers to is held for another, or for its policy before.
    if (missing.length === 0) return
    const outcomes = await Promise.allSettled(missing)
    const failure = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failure === undefined) return
    this.release(hashes)
    throw failure.reason
  }

  /** Gives up what {@link retain} holds. */
  release(hashes: readonly PartHash[]): void {
    for (const hash of hashes) {
      const entry = this.#entries.get(hash)
      if (entry === undefined) continue
      entry.references -= 1
      if (entry.references > 0) continue
      this.#entries.delete(hash)
      if (entry.part !== undefined) this.release(partRefs(entry.part))
    }
  }

  /** A part that is held; undefined for any other. */
  find(hash: PartHash): Part | undefined {
    return this.#entries.get(hash)?.part
  }

  /**
   * A part that is held.
   *
   * @throws TypeError for any other: the caller forgot to hold it
   */
  get(hash: PartHash): Part {
    const part = this.find(hash)
    if (part === undefined) throw new TypeError(`part ${hash} is not held`)
    return part
  }

  /**
   * The endpoints of a part are others, under the same hash: see `PolicySource.endpoints`.
   *
   * @returns false if the part is not held, or has these endpoints already
   */
  renew(hash: PartHash, part: EndpointsPart): boolean {
    const entry = this.#entries.get(hash)
    if (entry === undefined || entry.part === part) return false
    if (entry.part === undefined) entry.newer = part
    else entry.part = part
    return true
  }

  #hold(hash: PartHash): Entry {
    const known = this.#entries.get(hash)
    if (known !== undefined) {
      known.references += 1
      return known
    }
    const entry: Entry = { references: 1, part: undefined, ready: Promise.resolve() }
    this.#entries.set(hash, entry)
    entry.ready = this.#load(hash, entry)
    // `retain` reports the failure to its caller; a failure without a waiting caller is not an error.
    entry.ready.catch(() => undefined)
    return entry
  }

  async #load(hash: PartHash, entry: Entry): Promise<void> {
    const part = await this.#fetch(hash)
    const references = partRefs(part)
    await this.retain(references)
    // Released while it was loading: the parts that it refers to are not held for it.
    if (entry.references === 0) this.release(references)
    else entry.part = entry.newer ?? part
  }
}
