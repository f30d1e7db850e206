import {
  canonicalJson,
  compareCanonical,
  hashPart,
  type Part,
  type PartHash,
  partReferences,
  policyDocument,
  type ProxyPart,
  type ProxyPolicy,
} from '@osm-ts/driver-api/policy'

/** A document whose references may be any labels, or hashes that edits have made stale. */
export interface PolicyDraft {
  readonly proxy: ProxyPart
  readonly parts: Readonly<Record<string, Part>>
}

/** Gives every part of a draft the hash of its content, and every reference the hash of what it refers to. */
export function pinPolicy(draft: PolicyDraft): ProxyPolicy {
  const pinned = new Map<string, readonly [PartHash, Part]>()
  const pin = (label: string): PartHash => {
    const known = pinned.get(label)
    if (known !== undefined) return known[0]
    const part = draft.parts[label]
    if (part === undefined) throw new Error(`nothing in the draft is called ${label}`)
    const resolved = withReferences(part, pin)
    const entry = [hashPart(resolved), resolved] as const
    pinned.set(label, entry)
    return entry[0]
  }
  const proxy = withReferences(draft.proxy, pin)
  return policyDocument(proxy, pinned.values())
}

function withReferences<P extends Part>(part: P, pin: (label: string) => PartHash): P {
  // What comes out of JSON.parse is P again: it went in through canonicalJson, which loses nothing of a part.
  const copy = JSON.parse(canonicalJson(part)) as P
  for (const { pointer, hash } of partReferences(part)) replace(copy, pointer.split('/').slice(1), pin(hash))
  // Order follows content, and the references are part of it.
  if (copy.kind === 'inbound' && copy.rules.kind === 'http') {
    return { ...copy, rules: { ...copy.rules, allow: [...copy.rules.allow].sort(compareCanonical) } }
  }
  return copy
}

/** Members and nested sets are referred to as a whole; the hash is in them. */
function replace(target: unknown, path: readonly string[], hash: PartHash): void {
  const [name, ...rest] = path
  const holder = target as Record<string, unknown>
  if (name === undefined) {
    holder['hash'] = hash
    return
  }
  if (rest.length === 0 && typeof holder[name] === 'string') holder[name] = hash
  else replace(holder[name], rest, hash)
}
