import type { Capabilities } from '@osm-ts/driver-api'
import { unsupportedByClass, type RequiredFeature } from '@osm-ts/driver-api/host'
import { formatObjectRef } from '@osm-ts/core'

import type { ExplainedPolicy } from '../state/debug-api.js'

/** A policy in force, with the class of the proxy that obeys it. */
export interface ObeyedPolicy {
  readonly sidecarClass: string
  readonly policy: ExplainedPolicy
}

/** A feature that policies need and another class lacks. */
export interface CapabilityLoss {
  readonly feature: RequiredFeature
  /** True if leaving it out could let something pass that policies forbid. */
  readonly security: boolean
  /** False if the present class of every proxy that needs it lacks it too. */
  readonly hadBefore: boolean
  /** Objects that request it; empty where the mesh as a whole does. */
  readonly objects: readonly string[]
  /** `<kind> <id>` of the parts that need it. */
  readonly parts: readonly string[]
}

/** Where a class has no IPv6, the rules of interception refuse it: nothing bypasses the sidecar, and nothing comes through. */
const CLOSED_BY_HOST: RequiredFeature = 'ip-family:IPv6'

/** What policies need and a class lacks, sorted by feature. Proxies that are of the class already lose nothing. */
export function capabilityLosses(
  policies: readonly ObeyedPolicy[],
  to: { readonly name: string; readonly capabilities: Capabilities },
  capabilitiesOf: (sidecarClass: string) => Capabilities | undefined,
): readonly CapabilityLoss[] {
  const losses = new Map<RequiredFeature, CapabilityLoss>()
  for (const { sidecarClass, policy } of policies) {
    if (sidecarClass === to.name) continue
    // An unknown class is assumed to support every feature.
    const present = capabilitiesOf(sidecarClass)
    const { proxy, version, parts } = policy
    for (const [hash, part] of [[version, proxy] as const, ...Object.entries(parts)]) {
      const kept = new Set(
        (present === undefined ? [] : unsupportedByClass(part, present)).map(({ feature }) => feature),
      )
      for (const { feature, pointer, security } of unsupportedByClass(part, to.capabilities)) {
        const before = losses.get(feature)
        losses.set(feature, {
          feature,
          security: (security && feature !== CLOSED_BY_HOST) || before?.security === true,
          hadBefore: !kept.has(feature) || before?.hadBefore === true,
          objects: union(before?.objects, objectsAt(policy, hash, pointer)),
          parts: union(before?.parts, [`${part.kind} ${part.id}`]),
        })
      }
    }
  }
  return [...losses.values()].sort((a, b) => (a.feature < b.feature ? -1 : 1))
}

/** Objects that the innermost element came from that the pointer leads to or into. */
function objectsAt({ origins = {} }: ExplainedPolicy, hash: string, pointer: string): readonly string[] {
  const ofPart = origins[hash] ?? {}
  const [nearest] = Object.keys(ofPart)
    .filter((candidate) => pointer === candidate || pointer.startsWith(`${candidate}/`))
    .sort((a, b) => b.length - a.length)
  return (nearest === undefined ? [] : (ofPart[nearest] ?? [])).map(({ object }) => formatObjectRef(object))
}

function union(some: readonly string[] = [], more: readonly string[]): readonly string[] {
  return [...new Set([...some, ...more])].sort()
}
