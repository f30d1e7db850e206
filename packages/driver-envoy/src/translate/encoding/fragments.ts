import type { DescMessage } from '@bufbuild/protobuf'

import { encodeMembers } from '../../resources/encode-message.js'
import type { Init } from './encode.js'

/** Sets of fragments that are kept: nearly always the mesh has one, and two while its settings change. */
const MAX_KEPT = 16

/**
 * Fields that all resources with the same settings have in common, encoded once. A name says everything that
 * they depend on besides the settings; there are a few for each kind of message.
 */
export class Fragments {
  readonly #known = new Map<string, unknown>()

  /** Fields of a message, those that are messages encoded, in the order of the fields. */
  fields<Desc extends DescMessage>(schema: Desc, name: string, build: () => Init<Desc>): Init<Desc> {
    const key = `${schema.typeName} ${name}`
    // What is known by the name of a message are fields of that message.
    const known = this.#known.get(key) as Init<Desc> | undefined
    if (known !== undefined) return known
    const fields = encodeMembers(schema, build())
    this.#known.set(key, fields)
    return fields
  }
}

/** The fragments of settings, by their key. */
export class FragmentCache {
  readonly #kept = new Map<string, Fragments>()

  get(key: string): Fragments {
    const known = this.#kept.get(key)
    if (known !== undefined) return known
    const fragments = new Fragments()
    this.#kept.set(key, fragments)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    return fragments
  }
}
