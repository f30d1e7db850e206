import type { ObjectOrigin, Problem } from '../../problem.js'
import { sameContent } from '../content.js'
import type { SpecErrorCode } from '../error-codes.js'
import type { MeshObject, ObjectKey } from '../objects.js'
import { parseObjectKey } from '../objects.js'
import { brokenScriptEdit } from '../validation/extensions.js'
import type { Definition } from './read-documents.js'

/** A file, as far as it was read. */
export interface FileContent {
  readonly file: string
  readonly definitions: readonly Definition[]
  /**
   * True while the file is gone or empty and that may be a moment of a save: what it held counts only where nothing
   * else says it.
   */
  readonly fading: boolean
}

/** An object in force and the definition it came from. */
export interface HeldObject {
  readonly object: MeshObject
  readonly definition: Definition
  readonly file: string
}

/** The outcome of {@link resolveDefinitions}. */
export interface Resolution {
  readonly held: ReadonlyMap<ObjectKey, HeldObject>
  readonly problems: readonly Problem[]
}

interface Claim {
  readonly file: string
  readonly definition: Definition
}

/**
 * Decides which definition of each object is in force.
 *
 * The first in order of file and line holds. A definition that can't be used leaves the version in force before in
 * place. A document that can't even be told to be an object keeps all that its file held and doesn't define any more.
 *
 * @param files - in order of precedence
 * @param inForce - the outcome before
 */
export function resolveDefinitions(
  files: readonly FileContent[],
  inForce: ReadonlyMap<ObjectKey, HeldObject>,
): Resolution {
  const resolver = new Resolver(inForce)
  for (const file of files) resolver.claim(file)
  resolver.decide()
  for (const file of files) resolver.keep(file)
  return resolver.finish(files)
}

class Resolver {
  readonly #inForce: ReadonlyMap<ObjectKey, HeldObject>
  readonly #claims = new Map<ObjectKey, Claim[]>()
  readonly #held = new Map<ObjectKey, HeldObject>()
  readonly #problems: Problem[] = []
  /** Broken definitions by what holds in their place. */
  readonly #fallback = new Map<Definition, string>()
  #byFile: Map<string, (readonly [ObjectKey, HeldObject])[]> | undefined

  constructor(inForce: ReadonlyMap<ObjectKey, HeldObject>) {
    this.#inForce = inForce
  }

  claim({ file, definitions, fading }: FileContent): void {
    if (fading) return
    for (const definition of definitions) {
      const key = this.#claimedKey(file, definition)
      if (key === undefined) continue
      const claims = this.#claims.get(key)
      if (claims === undefined) this.#claims.set(key, [{ file, definition }])
      else claims.push({ file, definition })
    }
  }

  decide(): void {
    for (const [key, claims] of this.#claims) {
      const held = this.#winner(key, claims)
      if (held !== undefined) this.#held.set(key, held)
      for (const { definition } of claims)
        if (definition.object === undefined)
          this.#fallback.set(definition, held === undefined ? 'the object is left out' : fallbackText(held, claims))
      this.#reportDuplicates(claims, held)
    }
  }

  /** Keeps what a file held and no longer tells, where that is no clear deletion. */
  keep({ file, definitions, fading }: FileContent): void {
    const unclear = definitions.filter(
      (definition) =>
        definition.secret === undefined &&
        definition.other === undefined &&
        this.#claimedKey(file, definition) === undefined,
    )
    if (!fading && unclear.length === 0) return
    for (const [key, held] of this.#heldBefore(file)) {
      if (this.#held.has(key) || this.#claims.has(key)) continue
      const cause = unclear.find((definition) => mayMean(definition, key))
      if (!fading && cause === undefined) continue
      this.#held.set(key, held)
      if (cause !== undefined) this.#fallback.set(cause, 'what this file held before stays in force')
    }
  }

  finish(files: readonly FileContent[]): Resolution {
    const own = files.flatMap(({ definitions, fading }) =>
      fading ? [] : definitions.flatMap((it) => this.#explained(it)),
    )
    return { held: this.#held, problems: [...own, ...this.#problems] }
  }

  #heldBefore(file: string): readonly (readonly [ObjectKey, HeldObject])[] {
    if (this.#byFile === undefined) {
      this.#byFile = new Map()
      for (const entry of this.#inForce) {
        const entries = this.#byFile.get(entry[1].file)
        if (entries === undefined) this.#byFile.set(entry[1].file, [entry])
        else entries.push(entry)
      }
    }
    return this.#byFile.get(file) ?? []
  }

  /**
   * The object a definition speaks of. A malformed one is trusted only if it names what its file already held: the name
   * may be cut off.
   */
  #claimedKey(file: string, { key, malformed }: Definition): ObjectKey | undefined {
    if (key === undefined || !malformed) return key
    return this.#inForce.get(key)?.file === file ? key : undefined
  }

  #winner(key: ObjectKey, claims: readonly Claim[]): HeldObject | undefined {
    const before = this.#inForce.get(key)
    const [first] = claims
    const firstIsBroken = first !== undefined && first.definition.object === undefined
    if (firstIsBroken && before?.file === first.file) return before
    for (const { file, definition } of claims) {
      const { object } = definition
      if (object === undefined) continue
      if (before?.file === file && this.#breaksScript(before.object, object, definition)) return before
      // The object that is known already continues, so that nothing seems changed where only lines moved.
      return { object: before && sameContent(before.object, object) ? before.object : object, definition, file }
    }
    return before
  }

  /** True if an edit has left a Plugin with a script that cannot be read: the version before it stays in force, and the problem says so. */
  #breaksScript(before: MeshObject, object: MeshObject, definition: Definition): boolean {
    const problem = brokenScriptEdit(before, object)
    if (problem === undefined) return false
    this.#problems.push({ ...problem, origin: definition.locate(['spec', 'pipyscript']) })
    return true
  }

  #reportDuplicates(claims: readonly Claim[], held: HeldObject | undefined): void {
    if (claims.length < 2 || held === undefined) return
    const winner = claims.find(({ definition }) => definition === held.definition)?.definition ?? claims[0]?.definition
    for (const { definition } of claims) {
      if (definition === winner || winner === undefined) continue
      const code: SpecErrorCode = 'OSM_SPEC_DUPLICATE'
      const { kind, metadata } = held.object
      this.#problems.push({
        code,
        severity: 'error',
        message: `is also defined at ${placeText(winner.locate([]))}, which takes precedence; remove one of the two`,
        object: { kind, namespace: metadata.namespace, name: metadata.name },
        origin: definition.locate([]),
      })
    }
  }

  #explained(definition: Definition): readonly Problem[] {
    const fallback = this.#fallback.get(definition)
    if (fallback === undefined) return definition.problems
    return definition.problems.map((problem) =>
      problem.severity === 'error' ? { ...problem, message: `${problem.message}; ${fallback}` } : problem,
    )
  }
}

/** True if a definition that tells no key may have been meant for the object. */
function mayMean({ named, malformed }: Definition, key: ObjectKey): boolean {
  if (malformed || named === undefined) return true
  const ref = parseObjectKey(key)
  return ref?.name === named.name && (ref.namespace === '' || ref.namespace === named.namespace)
}

function fallbackText(held: HeldObject, claims: readonly Claim[]): string {
  const other = claims.find(({ definition }) => definition === held.definition)
  return other === undefined
    ? 'the last good version stays in force'
    : `the version at ${placeText(other.definition.locate([]))} applies`
}

function placeText(origin: ObjectOrigin): string {
  return origin.kind === 'file' ? `${origin.file}:${origin.line}` : 'the API server'
}
