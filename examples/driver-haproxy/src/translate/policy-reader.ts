import { type PartRef, PolicyReader } from '@osm-ts/driver-api/policy'

import { Unsayable } from './words.js'

/** A reader that also collects what can't be said to HAProxy. */
export class HaproxyPolicyReader extends PolicyReader {
  /** What `say` gives; if it can't be said, that is noted, and `otherwise` is in its place. */
  attempt<T>(ref: PartRef, pointer: string, otherwise: T, say: () => T): T {
    try {
      return say()
    } catch (error) {
      if (!(error instanceof Unsayable)) throw error
      this.refuse(ref, pointer, error.message)
      return otherwise
    }
  }
}
