import fc from 'fast-check'

import type { JsonValue, Part } from '../src/policy/index.js'
import { partSchemas } from '../src/policy/index.js'

type Path = readonly (string | number)[]

/** A change after which a valid part can no longer be one. */
export interface Mutation {
  readonly what: 'adds a member' | 'changes a type' | 'drops a member'
  readonly path: Path
}

/** Every such change of a part. What an extension holds is free, so nothing is changed in there. */
function mutationsOf(part: Part): readonly Mutation[] {
  const found: Mutation[] = partSchemaRequired(part).map((name) => ({ what: 'drops a member', path: [name] }))
  const visit = (value: JsonValue, path: Path): void => {
    if (part.kind === 'extension' && path[0] === 'value') return
    if (typeof value !== 'object' || value === null) {
      found.push({ what: 'changes a type', path })
      return
    }
    if (!Array.isArray(value)) found.push({ what: 'adds a member', path })
    for (const [name, member] of Object.entries(value)) {
      visit(member as JsonValue, [...path, Array.isArray(value) ? Number(name) : name])
    }
  }
  // A part is JSON.
  visit(part as unknown as JsonValue, [])
  return found
}

/** The part after the change. */
function mutated(part: Part, { what, path }: Mutation): unknown {
  const copy = structuredClone(part) as unknown as Record<string, unknown>
  const last = path.at(-1) ?? ''
  if (what === 'drops a member') return Object.fromEntries(Object.entries(copy).filter(([name]) => name !== last))
  const owner = (steps: Path): Record<string, unknown> =>
    steps.reduce((value, name) => value[name] as Record<string, unknown>, copy)
  if (what === 'adds a member') owner(path)['not-a-member'] = 1
  else owner(path.slice(0, -1))[last] = { neither: 'text nor number nor truth' }
  return copy
}

/** A part and one such change of it. */
export function mutatedPart(
  part: fc.Arbitrary<Part>,
): fc.Arbitrary<{ readonly mutation: Mutation; readonly value: unknown }> {
  return part.chain((value) =>
    fc.constantFrom(...mutationsOf(value)).map((mutation) => ({ mutation, value: mutated(value, mutation) })),
  )
}

function partSchemaRequired(part: Part): readonly string[] {
  // Principals are a union; what both variants have is required.
  if (part.kind === 'principals') return ['kind', 'id', 'match']
  return partSchemas[part.kind].required
}
