import type { PartHash, ProxyPolicy } from '@osm-ts/driver-api/policy'

import type { Steps } from '../../async/index.js'
import { compareProblems, type Problem } from '../../problem.js'
import { makeObjectKey, type Kind, type ObjectKey } from '../../spec/index.js'
import type { LocatedSource, Locate } from '../catalog-types.js'
import { groupProblems, problemGroups, uniqueProblems } from '../policy/problems/problem-groups.js'
import type { Origins, SourceRef } from '../policy/parts/policy-part.js'
import type { PolicyProblem } from '../policy/problems/problems.js'
import type { PolicyComputation } from '../policy-computation.js'

/** Leads from policies back to what people wrote. */
export class Provenance {
  readonly #computation: PolicyComputation
  readonly #locate: Locate | undefined

  constructor(computation: PolicyComputation, locate: Locate | undefined) {
    this.#computation = computation
    this.#locate = locate
  }

  /** Objects that a part, or an element of it, came from. */
  originsOf(hash: PartHash, pointer?: string): readonly LocatedSource[] {
    const { parts, endpoints } = this.#computation
    const sources = [...parts.find(hash), endpoints.find(hash)]
      .filter((part) => part !== undefined)
      .flatMap(({ origins }) => (pointer === undefined ? Object.values(origins).flat() : sourcesAt(origins, pointer)))
    const byText = new Map(sources.map((source) => [JSON.stringify(source), source]))
    return [...byText.values()].map((source) => this.#located(source))
  }

  /** Keys of all objects that parts came from. */
  objectsOf(hashes: Iterable<PartHash>): ReadonlySet<ObjectKey> {
    const { parts, endpoints } = this.#computation
    const found = new Set<ObjectKey>()
    for (const hash of hashes)
      for (const part of [...parts.find(hash), endpoints.find(hash)])
        for (const { object } of Object.values(part?.origins ?? {}).flat())
          // Sources are made of objects, so their kind is one.
          found.add(makeObjectKey(object.kind as Kind, object.namespace, object.name))
    return found
  }

  /** Objects that elements of the parts of a document came from, by hash of the part. The policy must be held. */
  originsByPart(document: ProxyPolicy): Readonly<Record<PartHash, Origins>> {
    const { parts } = this.#computation
    const found = Object.keys(document.parts).flatMap((hash) => {
      // Keys of the document's parts are hashes.
      const entries = parts.find(hash as PartHash).flatMap(({ origins }) => Object.entries(origins))
      return entries.length === 0 ? [] : [[hash, Object.fromEntries(entries)] as const]
    })
    return Object.fromEntries(found)
  }

  /** What was found wrong while policies were computed; sorted by place. */
  *problems(): Steps<readonly Problem[]> {
    const found: PolicyProblem[] = []
    for (const group of problemGroups()) {
      found.push(...(this.#computation.read(groupProblems, group) ?? []))
      yield
    }
    return uniqueProblems(found)
      .map((problem): Problem => {
        const { object, field } = problem
        const { origin } = this.#located({ object, ...(field === undefined ? {} : { field }) })
        return origin === undefined ? problem : { ...problem, origin }
      })
      .sort(compareProblems)
  }

  #located({ object, field }: SourceRef): LocatedSource {
    const { kind, namespace, name } = object
    // Sources are made of objects, so their kind is one.
    const key = makeObjectKey(kind as Kind, namespace, name)
    const origin = this.#locate?.(key, field) ?? this.#computation.snapshot.getByKey(key)?.origin
    return { object, ...(field === undefined ? {} : { field }), origin }
  }
}

/** Sources of the innermost element that the pointer leads to or into; of the part as a whole where no element has its own. */
function sourcesAt(origins: Origins, pointer: string): readonly SourceRef[] {
  const [nearest] = Object.keys(origins)
    .filter((candidate) => pointer === candidate || pointer.startsWith(`${candidate}/`))
    .sort((a, b) => b.length - a.length)
  return nearest === undefined ? [] : (origins[nearest] ?? [])
}
