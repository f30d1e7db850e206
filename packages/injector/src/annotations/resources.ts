import type { Resources } from '@osm-ts/driver-api'

import { annotationError, type AnnotationOwner, annotations, shown } from './annotation.js'

const SIDES = ['limits', 'requests'] as const
const RESOURCES = ['cpu', 'memory', 'storage', 'ephemeral-storage'] as const
/** Kubernetes' own grammar of quantities, without signs: a sidecar can't have less than nothing. */
const QUANTITY = /^([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$/
const LONGEST_QUANTITY = 32

/** Amounts of every resource that is named, both sides always there. */
export type SidecarResources = Required<Resources>

/**
 * Reads the annotations `sidecar-resource-limits-<resource>` and `sidecar-resource-requests-<resource>`.
 *
 * @throws OsmError `OSM_INJECT_ANNOTATION`
 */
export function readResources(all: Readonly<Record<string, string>>, owner: AnnotationOwner): SidecarResources {
  const found = { limits: new Map<string, string>(), requests: new Map<string, string>() }
  for (const [name, text] of Object.entries(all)) {
    if (!name.startsWith(annotations.resources)) continue
    const [side, resource] = split(name, owner)
    if (text.length > LONGEST_QUANTITY || !QUANTITY.test(text))
      throw annotationError(owner, name, `${shown(text)} is not an amount such as 100m, 0.5, 64Mi or 1Gi`)
    found[side].set(resource, text)
  }
  return { limits: Object.fromEntries(found.limits), requests: Object.fromEntries(found.requests) }
}

/** For every amount the first of the given that names it. */
export function mergeResources(first: SidecarResources, ...others: readonly SidecarResources[]): SidecarResources {
  return others.reduce(
    (merged, next) => ({
      limits: { ...next.limits, ...merged.limits },
      requests: { ...next.requests, ...merged.requests },
    }),
    first,
  )
}

function split(name: string, owner: AnnotationOwner): readonly [(typeof SIDES)[number], string] {
  const rest = name.slice(annotations.resources.length)
  for (const side of SIDES) {
    const resource = rest.startsWith(`${side}-`) ? rest.slice(side.length + 1) : undefined
    if (resource !== undefined && (RESOURCES as readonly string[]).includes(resource)) return [side, resource]
  }
  const known = SIDES.flatMap((side) => RESOURCES.map((resource) => `${annotations.resources}${side}-${resource}`))
  throw annotationError(owner, name, `is not known; known are ${known.join(', ')}`)
}
