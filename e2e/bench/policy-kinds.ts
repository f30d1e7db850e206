import { isOfKind, type MeshObject, proxyKeyOfInstance } from '@osm-ts/core'
import { decodeManifests } from '@osm-ts/core/testing'
import { Translator } from '@osm-ts/driver-envoy'

import { ComputedPolicies, octetsOf } from './computed-policies.js'
import { MEASURED, policyKindMeshes } from './policy-kind-meshes.js'
import { round } from './statistics.js'

/** What one proxy costs when some number of things of a kind concern it. */
export interface PolicyKindSize {
  readonly size: number
  /** Milliseconds of computation of all policies of the mesh, from nothing. */
  readonly computeMs: number
  /** Milliseconds of processor time of a translation for the measured proxy, with nothing remembered: the least of some. */
  readonly translateMs: number
  /** Bytes of encoded resources of the measured proxy. */
  readonly octets: number
  /** The same, divided by the size. */
  readonly each: { readonly translateMicroseconds: number; readonly octets: number }
}

/** How the costs of a kind grow. */
export interface PolicyKindCost {
  readonly sizes: readonly PolicyKindSize[]
  /** Cost for each thing at the largest size, divided by that at 100. About 1 is linear; 10 would be quadratic. */
  readonly growth: { readonly translate: number; readonly octets: number }
}

/** Time of 1,000 HTTPRoutes on 300 Services, divided by that of as many TrafficSplits with matches: the least of some turns each. */
interface RouteRatio {
  readonly compute: number
  readonly translate: number
  readonly both: number
}

/** By kind, and what routes of one API cost beside those of the other. */
type PolicyKindCosts = Readonly<Record<string, PolicyKindCost | RouteRatio>> & {
  readonly httpRoutesToSplits: RouteRatio
}

const SIZES = [10, 100, 300, 1000] as const
const REFERENCE = 100

/**
 * Measures for each kind of policy that time and bytes are linear in what a proxy can reach.
 *
 * @param repetitions - translations of a small mesh; a large one takes fewer
 */
export function measurePolicyKinds({
  repetitions,
}: {
  readonly repetitions: { readonly small: number; readonly large: number }
}): PolicyKindCosts {
  const kinds = Object.entries(policyKindMeshes)
  // The first translations of a process are slow whatever they translate.
  for (const [, mesh] of kinds) measure(decodeManifests(mesh(REFERENCE)), REFERENCE, 1)
  const costs = Object.fromEntries(
    kinds.map(([kind, mesh]) => {
      const sizes = SIZES.map((size) =>
        measure(decodeManifests(mesh(size)), size, size > REFERENCE ? repetitions.large : repetitions.small),
      )
      return [kind, { sizes, growth: growthOf(sizes) }]
    }),
  )
  return { ...costs, httpRoutesToSplits: compareRoutes(Math.max(3, repetitions.large)) }
}

/** Both kinds in turns, so that other work on the machine concerns both. */
function compareRoutes(turns: number): RouteRatio {
  const size = SIZES[SIZES.length - 1] ?? REFERENCE
  const meshes = ['httpRoutes', 'splitMatches'].map((kind) => decodeManifests(policyKindMeshes[kind]?.(size) ?? []))
  const least = meshes.map(() => ({ compute: Infinity, translate: Infinity }))
  for (let turn = 0; turn < turns; turn += 1)
    for (const [index, objects] of meshes.entries()) {
      const { computeMs, translateMs } = measure(objects, size, 1)
      const before = least[index] ?? { compute: Infinity, translate: Infinity }
      least[index] = {
        compute: Math.min(before.compute, computeMs),
        translate: Math.min(before.translate, translateMs),
      }
    }
  const [routes, splits] = least
  if (routes === undefined || splits === undefined) throw new Error('there are two kinds')
  return {
    compute: round(routes.compute / splits.compute),
    translate: round(routes.translate / splits.translate),
    both: round((routes.compute + routes.translate) / (splits.compute + splits.translate)),
  }
}

function measure(objects: readonly MeshObject[], size: number, repetitions: number): PolicyKindSize {
  const policies = new ComputedPolicies()
  const computeMs = policies.start(objects)
  const proxy = objects.flatMap((object) =>
    isOfKind(object, 'WorkloadInstance') && object.spec.workload === MEASURED ? [proxyKeyOfInstance(object)] : [],
  )[0]
  if (proxy === undefined) throw new Error('the mesh has no proxy to measure')
  const times: number[] = []
  let octets = 0
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    const translator = new Translator()
    const start = process.cpuUsage()
    const translated = policies.translate(translator, proxy, 1)
    const { user, system } = process.cpuUsage(start)
    times.push((user + system) / 1000)
    octets = octetsOf(translated)
  }
  const translateMs = Math.min(...times)
  return {
    size,
    computeMs: round(computeMs),
    translateMs: round(translateMs),
    octets,
    each: { translateMicroseconds: round((translateMs * 1000) / size), octets: round(octets / size) },
  }
}

function growthOf(sizes: readonly PolicyKindSize[]): PolicyKindCost['growth'] {
  const reference = sizes.find(({ size }) => size === REFERENCE)?.each
  const largest = sizes.at(-1)?.each
  if (reference === undefined || largest === undefined) throw new Error(`size ${REFERENCE} was not measured`)
  return {
    translate: round(largest.translateMicroseconds / reference.translateMicroseconds),
    octets: round(largest.octets / reference.octets),
  }
}
