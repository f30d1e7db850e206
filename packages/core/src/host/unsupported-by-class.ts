import { type Capabilities, type InboundPart, missingCapabilities } from '@osm-ts/driver-api'

/** Why a served port can't be given to a proxy as it is written. */
export interface Beyond {
  readonly message: string
  /** JSON pointer of the element in its part. */
  readonly element: string
}

/**
 * Tells of a served port whether a class has no means to protect it as it is written: what the class would leave out lets something pass that the policy
 * forbids. Undefined if it has.
 */
export function unsupportedByClass(
  sidecarClass: string,
  capabilities: Capabilities,
): (part: InboundPart) => Beyond | undefined {
  // Asked for each policy of each proxy, and nearly all serve what they served before, or what others serve.
  const known = new WeakMap<InboundPart, { readonly beyond: Beyond | undefined }>()
  const beyondOf = (part: InboundPart): Beyond | undefined => {
    const missing = missingCapabilities(part, capabilities).find(({ security }) => security)
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
      entry = { beyond: beyondOf(part) }
      known.set(part, entry)
    }
    return entry.beyond
  }
}
