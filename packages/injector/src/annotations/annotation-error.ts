import { OsmError } from '@osm-ts/driver-api'

import type { InjectorErrorCode } from '../error-codes.js'

const SHOWN = 64

/** Who has an annotation, such as `pod` or `namespace shop`. */
export type AnnotationOwner = string

/** What is wrong with an annotation, and what would be right. */
export function annotationError(owner: AnnotationOwner, name: string, message: string): OsmError<InjectorErrorCode> {
  return new OsmError<InjectorErrorCode>('OSM_INJECT_ANNOTATION', `annotation ${name} of ${owner}: ${message}`)
}

/** A value of a user inside a message: quoted, on one line, and cut. */
export function shown(text: string): string {
  return text.length > SHOWN
    ? `${JSON.stringify(text.slice(0, SHOWN))}… (${text.length} characters)`
    : JSON.stringify(text)
}
