import type { Capabilities } from '@osm-ts/driver-api'
import { unsupportedByClass } from '@osm-ts/driver-api/host'
import type { InboundPart } from '@osm-ts/driver-api/policy'

/** Why a served port can't be given to a proxy as it is written. */
export interface UnprotectedPort {
  readonly message: string
  /** JSON pointer of the element in its part. */
  readonly element: string
}

/**
 * Tells of a served port whether a class has no means to protect it as it is written: what the class would leave out lets something pass that the policy
 * forbids. Undefined if it has.
 */
export function unprotectedByClass(
  sidecarClass: string,
  capabilities: Capabilities,
): (part: InboundPart) => UnprotectedPort | undefined {
  // Asked for each policy of each proxy, and nearly all serve what they served before, or what others serve.
  const known = new WeakMap<InboundPart, { readonly unprotected: UnprotectedPort | undefined }>()
  const unprotectedPortOf = (part: InboundPart): UnprotectedPort | undefined => {
    const missing = unsupportedByClass(part, capabilities).find(({ security }) => security)
    if (missing === undefined) return undefined
    const { feature, pointer } = missing
    return {
      message: `sidecar class ${sidecarClass} cannot do this (${feature}); the port is closed`,
      element: pointer,
    }
  }
  return (part) => {
    let entry = known.get(part)
    if (entry === undefined) {
      entry = { unprotected: unprotectedPortOf(part) }
      known.set(part, entry)
    }
    return entry.unprotected
  }
}
