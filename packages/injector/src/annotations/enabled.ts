import { switchWords } from '@osm-ts/core'

import { annotationError, type AnnotationOwner, shown } from './annotation-error.js'

/**
 * Reads a switch in one of OSM's words; undefined where there is none.
 *
 * @throws OsmError `OSM_INJECT_ANNOTATION`
 */
export function readSwitch(text: string | undefined, name: string, owner: AnnotationOwner): boolean | undefined {
  if (text === undefined) return undefined
  const value = switchWords.get(text.toLowerCase())
  if (value === undefined)
    throw annotationError(owner, name, `${shown(text)} is not one of ${[...switchWords.keys()].join(', ')}`)
  return value
}
