import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'

import {
  ObjectDecoder,
  objectKey,
  objectRef,
  type MeshObject,
  type ObjectKey,
  type ObjectOrigin,
  type ObjectSource,
  PatternChecker,
  type Problem,
  readObjects,
  type SpecErrorCode,
  YamlFolderSource,
  makeObjectKey,
  parseObjectKey,
} from '@osm-ts/core'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { type InputFiles, readInputFile, STANDARD_INPUT, STANDARD_INPUT_NAME, unreadable } from './input-files.js'

/** Objects that a user is about to apply or delete. */
export interface ProposedChange {
  readonly source: ObjectSource
  readonly removed: ReadonlySet<ObjectKey>
}

/** Files and folders as one change. None of them is read before the source starts. */
export function proposedChange(files: InputFiles, removed: readonly ObjectKey[] = []): ProposedChange {
  return { source: new ChangeSource(files), removed: new Set(removed) }
}

/** A text of YAML as one change. `name` stands for its file in messages. */
export function proposedText(text: string, name: string, removed: readonly ObjectKey[]): ProposedChange {
  return { source: new ChangeSource({ text, name }), removed: new Set(removed) }
}

/** The sources of a mesh as it would be with the change. */
export function sourcesWith(base: ObjectSource, change: ProposedChange | undefined): readonly ObjectSource[] {
  return change === undefined ? [base] : [change.source, new ReplacedSource(base, change)]
}

/** A source without what a change replaces or removes. */
class ReplacedSource implements ObjectSource {
  readonly #base: ObjectSource
  readonly #change: ProposedChange

  constructor(base: ObjectSource, change: ProposedChange) {
    this.#base = base
    this.#change = change
  }

  get name(): string {
    return this.#base.name
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#base.start(signal)
  }

  /** Both are read once: what changes later belongs to neither answer. */
  subscribe(): () => void {
    return () => undefined
  }

  problems(): readonly Problem[] {
    const isGone = this.#isGone()
    return this.#base.problems().filter(({ object }) => {
      const key = object && (`${object.kind}/${object.namespace}/${object.name}` as ObjectKey) // the form of a key; a kind that is not known matches none
      return key === undefined || !isGone(key)
    })
  }

  objects(): readonly MeshObject[] {
    const isGone = this.#isGone()
    return this.#base.objects().filter((object) => !isGone(objectKey(object)))
  }

  locate(key: ObjectKey, field?: string): ObjectOrigin | undefined {
    return this.#isGone()(key) ? undefined : this.#base.locate(key, field)
  }

  #isGone(): (key: ObjectKey) => boolean {
    const { source, removed } = this.#change
    const replaced = new Set(source.objects().map((object) => objectKey(object)))
    return (key) => replaced.has(key) || removed.has(key)
  }
}

/** Where a change is written down. */
type ChangeText = InputFiles | { readonly text: string; readonly name: string }

/** The objects of files and folders, or of a text; of those written down twice, the first. */
class ChangeSource implements ObjectSource {
  readonly name = 'change'
  readonly #written: ChangeText
  readonly #places: Pick<ObjectSource, 'locate'>[] = []
  readonly #held = new Map<ObjectKey, MeshObject>()
  readonly #problems: Problem[] = []

  constructor(written: ChangeText) {
    this.#written = written
  }

  async start(signal: AbortSignal): Promise<void> {
    if ('text' in this.#written) {
      this.#readText(this.#written.text, this.#written.name)
      return
    }
    const { paths, cwd, standardInput } = this.#written
    for (const path of paths) {
      if (path === STANDARD_INPUT) {
        this.#readText(standardInput, STANDARD_INPUT_NAME)
        continue
      }
      const absolute = resolve(cwd, path)
      const facts = await stat(absolute).catch((error: unknown) => {
        throw unreadable(path, errorMessage(error))
      })
      if (facts.isDirectory()) await this.#readFolder(absolute, signal)
      else this.#readText(await readInputFile(path, cwd), absolute)
    }
  }

  subscribe(): () => void {
    return () => undefined
  }

  problems(): readonly Problem[] {
    return this.#problems
  }

  objects(): readonly MeshObject[] {
    return [...this.#held.values()]
  }

  locate(key: ObjectKey, field?: string): ObjectOrigin | undefined {
    for (const place of this.#places) {
      const origin = place.locate(key, field)
      if (origin !== undefined) return origin
    }
    return undefined
  }

  async #readFolder(folder: string, signal: AbortSignal): Promise<void> {
    const source = new YamlFolderSource({ folder })
    await source.start(signal)
    this.#take(source.objects(), source.problems(), source)
  }

  #readText(text: string, file: string): void {
    const read = readObjects(text, { file, decoder: new ObjectDecoder('user', new PatternChecker()) })
    this.#take(read.objects, read.problems, read)
  }

  #take(objects: readonly MeshObject[], problems: readonly Problem[], place: Pick<ObjectSource, 'locate'>): void {
    this.#places.push(place)
    this.#problems.push(...problems)
    for (const object of objects) {
      const key = objectKey(object)
      if (this.#held.has(key)) this.#problems.push(duplicate(object))
      else this.#held.set(key, object)
    }
  }
}

function duplicate(object: MeshObject): Problem {
  return {
    code: 'OSM_SPEC_DUPLICATE' satisfies SpecErrorCode,
    severity: 'error',
    message: 'is defined twice; the first definition applies',
    object: objectRef(object),
    origin: object.origin,
  }
}

/** The object that a user names as `<kind>/<namespace>/<name>`, or `<kind>/<name>` for cluster-scoped kinds; undefined if it has another form. */
export function parseObjectName(text: string): ObjectKey | undefined {
  const parsed = parseObjectKey(text.split('/').length === 2 ? text.replace('/', '//') : text)
  return parsed && makeObjectKey(parsed.kind, parsed.namespace, parsed.name)
}
