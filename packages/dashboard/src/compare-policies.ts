/** A policy, as far as it is compared. */
export interface PolicyDocument {
  readonly proxy: unknown
  /** By the hash of their content. */
  readonly parts: Readonly<Record<string, { readonly kind?: string; readonly id?: string }>>
}

/** A field that differs; absent values were not there. */
export interface FieldChange {
  /** JSON pointer. */
  readonly field: string
  readonly before?: string
  readonly after?: string
}

/** A part that differs. */
export interface PartChange {
  /** Kind and id. */
  readonly part: string
  readonly change: 'added' | 'removed' | 'changed'
  /** Only of changed parts. */
  readonly fields: readonly FieldChange[]
}

/** Parts that hold references to others alone: what they lead to is compared itself. */
const REFERENCES = 'set'

/** What is different in a newer version of a policy. Parts are the same ones if kind and id are. */
export function comparePolicies(before: PolicyDocument, after: PolicyDocument): readonly PartChange[] {
  const [old, now] = [partsBeside(before, after), partsBeside(after, before)]
  const changes: PartChange[] = [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((part): PartChange[] => {
    const [one, other] = [old.get(part), now.get(part)]
    if (one === undefined) return [{ part, change: 'added', fields: [] }]
    if (other === undefined) return [{ part, change: 'removed', fields: [] }]
    return changed(part, one, other)
  })
  return [...changed('proxy', before.proxy, after.proxy), ...changes]
}

/** Parts of a policy that the other one does not have as they are. */
function partsBeside({ parts }: PolicyDocument, other: PolicyDocument): ReadonlyMap<string, unknown> {
  const own = Object.entries(parts).filter(
    ([hash, { kind }]) => !Object.hasOwn(other.parts, hash) && kind !== REFERENCES,
  )
  return new Map(own.map(([hash, part]) => [`${part.kind ?? 'part'} ${part.id ?? hash.slice(0, 10)}`, part]))
}

function changed(part: string, before: unknown, after: unknown): PartChange[] {
  const [old, now] = [leaves(before), leaves(after)]
  const fields = [...new Set([...old.keys(), ...now.keys()])].flatMap((field): FieldChange[] => {
    const [one, other] = [old.get(field), now.get(field)]
    if (one === other) return []
    return [{ field, ...(one !== undefined && { before: one }), ...(other !== undefined && { after: other }) }]
  })
  return fields.length === 0 ? [] : [{ part, change: 'changed', fields }]
}

/** Values that are not objects or lists, by their pointers. */
function leaves(value: unknown): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const walk = (inner: unknown, pointer: string): void => {
    const entries = typeof inner === 'object' && inner !== null ? Object.entries(inner) : []
    if (entries.length === 0) found.set(pointer, JSON.stringify(inner))
    for (const [key, child] of entries) walk(child, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
  walk(value, '')
  return found
}
