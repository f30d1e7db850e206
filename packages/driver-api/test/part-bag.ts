import {
  collectPolicy,
  hashPart,
  partRefs,
  type Part,
  type PartHash,
  type ProxyPart,
  type ProxyPolicy,
} from '../src/policy/index.js'

/** Parts by hash, as a host holds them. */
export class PartBag {
  readonly #parts = new Map<PartHash, Part>()

  /** Keeps a part and gives its address. */
  add(part: Part): PartHash {
    const hash = hashPart(part)
    this.#parts.set(hash, part)
    return hash
  }

  /** The part with that address. */
  readonly get = (hash: PartHash): Part => {
    const part = this.#parts.get(hash)
    if (part === undefined) throw new Error(`no part has the hash ${hash}`)
    return part
  }

  /** The document below a proxy part. */
  collect(proxy: ProxyPart): ProxyPolicy {
    return collectPolicy(proxy, this.get)
  }
}

/** The parts of a document in a bag. */
export function bagOf(policy: ProxyPolicy): PartBag {
  const bag = new PartBag()
  for (const part of Object.values(policy.parts)) bag.add(part)
  return bag
}

/**
 * A document with some parts changed and every hash made right again, up to the root, so that nothing is wrong but the change itself.
 *
 * @param change - gives the part to put in place of each one, itself where it stays
 */
export function rebuilt(policy: ProxyPolicy, change: (part: Part) => Part): ProxyPolicy {
  const bag = new PartBag()
  const known = new Map<PartHash, PartHash>()
  const rewrite = (part: Part): Part => {
    let text = JSON.stringify(part)
    for (const hash of partRefs(part)) {
      const target = policy.parts[hash]
      if (target === undefined) continue
      const renamed = known.get(hash) ?? bag.add(rewrite(target))
      known.set(hash, renamed)
      text = text.replaceAll(hash, renamed)
    }
    // Only hashes were replaced by hashes.
    return change(JSON.parse(text) as Part)
  }
  // The root stays the root.
  return bag.collect(rewrite(policy.proxy) as ProxyPart)
}
