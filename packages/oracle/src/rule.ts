import type { KnownKind, Ref } from './objects.js'

/** A place in an object that decides. */
export interface Rule extends Ref {
  readonly kind: KnownKind
  /** Path inside the object. */
  readonly field: string
}
