import type { ObjectOrigin, Problem } from '../../problem.js'
import { sameValue } from '../content.js'
import { otherProblem, type OtherObject } from './other-object.js'
import type { FileContent } from './resolve-definitions.js'

/** Such an object and where it is written down. */
export interface HeldOther extends OtherObject {
  readonly origin: ObjectOrigin
}

/** Objects of a folder. */
const MAX_OBJECTS = 10_000

/** The objects of the files, the first of those with one name; the previous map if nothing changed. A file in the middle of a save keeps what it held. */
export function resolveOthers(
  files: readonly FileContent[],
  before: ReadonlyMap<string, HeldOther>,
): { readonly held: ReadonlyMap<string, HeldOther>; readonly problems: readonly Problem[] } {
  const held = new Map<string, HeldOther>()
  const problems: Problem[] = []
  for (const content of files)
    for (const [key, other] of othersOf(content, before)) {
      if (held.has(key))
        problems.push(
          otherProblem('OSM_SPEC_DUPLICATE', other, other.origin, 'is defined twice; the first one applies'),
        )
      else if (held.size >= MAX_OBJECTS)
        problems.push(
          otherProblem(
            'OSM_SPEC_OBJECT_BOUND',
            other,
            other.origin,
            `is beyond the first ${MAX_OBJECTS} objects of kinds of others`,
          ),
        )
      else held.set(key, other)
    }
  return { held: sameValue([...held], [...before]) ? before : held, problems }
}

function othersOf(
  { file, definitions, fading }: FileContent,
  before: ReadonlyMap<string, HeldOther>,
): readonly (readonly [string, HeldOther])[] {
  if (fading || definitions.some(({ malformed }) => malformed))
    return [...before].filter(([, { origin }]) => origin.kind === 'file' && origin.file === file)
  return definitions.flatMap(({ other, ...definition }) =>
    other === undefined || other.name === '' || other.spec === undefined
      ? []
      : [
          [
            `${other.group}/${other.kind}/${other.namespace}/${other.name}`,
            { ...other, origin: definition.locate([]) },
          ] as const,
        ],
  )
}
