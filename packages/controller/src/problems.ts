import {
  capabilityGaps,
  compareProblems,
  formatProblem,
  type MeshCatalog,
  type DriverRegistry,
  type DriverState,
  type Kind,
  type MeshConfigurator,
  type MeshObject,
  objectKey,
  objectRef,
  type Problem,
  type Snapshot,
  type SnapshotFeed,
  type SpecRules,
} from '@osm-ts/core'

import { driverProblems } from './driver-problems.js'

/** Who finds problems. */
export interface ProblemSources {
  readonly feed: SnapshotFeed
  readonly rules: SpecRules
  readonly configurator: MeshConfigurator
  readonly catalog: MeshCatalog
  readonly registry: DriverRegistry
  readonly drivers: () => readonly DriverState[]
}

/** Kinds that ask a sidecar for something that not every class can do. */
const asking: readonly Kind[] = [
  'MeshConfig',
  'HTTPRouteGroup',
  'UpstreamTrafficSetting',
  'Retry',
  'Egress',
  'EgressGateway',
  'Service',
  'IngressBackend',
  'AccessControl',
  'Telemetry',
]

/** Lists everything that is wrong with what users wrote, sorted by place. */
export function problemsOf(sources: ProblemSources): () => readonly Problem[] {
  const { feed, rules, configurator, catalog } = sources
  return () => {
    const snapshot = feed.current()
    const found = [
      ...feed.problems(),
      ...(snapshot === undefined ? [] : [...rules.checkAll(snapshot), ...beyondCapabilities(snapshot, sources)]),
      ...configurator.problems(),
      ...troubledDrivers(sources),
      ...catalog.problems(),
    ]
    // Two of them may find the same thing.
    return [...new Map(found.map((problem) => [formatProblem(problem), problem])).values()].sort(compareProblems)
  }
}

/** What is wrong with drivers, as a problem of the MeshConfig that allows their classes. */
function troubledDrivers({ feed, configurator, drivers }: ProblemSources): readonly Problem[] {
  const { object } = configurator
  return driverProblems(configurator.current(), drivers()).map((problem) => {
    if (object === undefined) return problem
    const origin = feed.locate(objectKey(object), problem.field ?? '') ?? object.origin
    return { ...problem, object: objectRef(object), origin }
  })
}

/** What objects ask for and the class that most proxies are of can't do. */
function beyondCapabilities(snapshot: Snapshot, { feed, configurator, registry }: ProblemSources): readonly Problem[] {
  const { sidecarClass } = configurator.current().sidecar
  if (!registry.names().includes(sidecarClass)) return []
  const { capabilities } = registry.get(sidecarClass)
  const objects = asking.flatMap((kind): readonly MeshObject[] => snapshot.list(kind))
  return objects.flatMap((object) =>
    capabilityGaps(object, capabilities).map(({ field, feature }): Problem => {
      const message = `sidecar class ${sidecarClass} can not do this (${feature}); it is not enforced`
      const origin = feed.locate(objectKey(object), field) ?? object.origin
      return {
        code: 'OSM_ADMISSION_CAPABILITY',
        severity: 'warning',
        message,
        object: objectRef(object),
        origin,
        field,
      }
    }),
  )
}
