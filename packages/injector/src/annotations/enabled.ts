import { annotationError, type AnnotationOwner, shown } from './annotation-error.js'

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['enabled', true],
  ['yes', true],
  ['true', true],
  ['disabled', false],
  ['no', false],
  ['false', false],
])

/**
 * Reads a switch in one of OSM's words; undefined where there is none.
 *
 * @throws OsmError `OSM_INJECT_ANNOTATION`
 */
export function readSwitch(text: string | undefined, name: string, owner: AnnotationOwner): boolean | undefined {
  if (text === undefined) return undefined
  const value = WORDS.get(text.toLowerCase())
  if (value === undefined)
    throw annotationError(owner, name, `${shown(text)} is not one of ${[...WORDS.keys()].join(', ')}`)
  return value
}
