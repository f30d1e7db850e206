import {
  type CertificateErrorCode,
  type CertificateProvider,
  type UnsupportedFields,
  type MeshCatalog,
  type DriverRegistry,
  type DriverState,
  joinProblems,
  type Kind,
  type MeshConfigurator,
  type MeshObject,
  objectKey,
  objectRef,
  type Problem,
  type Snapshot,
  type SnapshotFeed,
  type SpecRules,
  type Steps,
} from '@osm-ts/core'

import { driverProblems } from './driver-problems.js'
import type { EndpointsPlugins } from './endpoints-plugins.js'

/** Who finds problems. */
export interface ProblemSources {
  readonly feed: SnapshotFeed
  readonly rules: SpecRules
  readonly configurator: MeshConfigurator
  readonly catalog: MeshCatalog
  readonly registry: DriverRegistry
  readonly unsupported: UnsupportedFields
  readonly drivers: () => readonly DriverState[]
  readonly provider: Pick<CertificateProvider, 'faults' | 'name' | 'signsPublicKeys'>
  readonly plugins: Pick<EndpointsPlugins, 'problems'>
}

/** Kinds that ask a sidecar for something that not every class can do. */
const asking: readonly Kind[] = [
  'MeshConfig',
  'HTTPRouteGroup',
  'HTTPRoute',
  'GRPCRoute',
  'GatewayTCPRoute',
  'TLSRoute',
  'UpstreamTrafficSetting',
  'Retry',
  'Egress',
  'EgressGateway',
  'Service',
  'IngressBackend',
  'AccessControl',
  'Telemetry',
]

/**
 * Finds everything that is wrong with what users wrote, sorted by place. Looks at all of the mesh, so anyone who serves others meanwhile takes the steps in turns;
 * of what changes in between, either version may be told.
 */
export function* findProblems(sources: ProblemSources): Steps<readonly Problem[]> {
  const { feed, rules, configurator, catalog } = sources
  const snapshot = feed.current()
  const found = [feed.problems()]
  if (snapshot !== undefined) {
    found.push(yield* rules.checkInSteps(snapshot))
    found.push(yield* unsupportedFeatures(snapshot, sources))
  }
  found.push(
    configurator.problems(),
    troubledDrivers(sources),
    troubledProvider(sources),
    sources.plugins.problems(),
    yield* catalog.problemsInSteps(),
  )
  return joinProblems(found)
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

/** What is wrong with the certificate provider, as problems of the MeshConfig, whose certificates are concerned. */
function troubledProvider({ feed, configurator, provider }: ProblemSources): readonly Problem[] {
  const { object } = configurator
  const field = 'spec.certificate'
  const place =
    object === undefined
      ? {}
      : { object: objectRef(object), origin: feed.locate(objectKey(object), field) ?? object.origin, field }
  const problems: Problem[] = provider
    .faults()
    .map(({ code, severity, message }) => ({ code, severity, message, ...place }))
  const { serviceCertificates } = configurator.current().certificate
  if (serviceCertificates === 'perProxy' && !provider.signsPublicKeys)
    problems.push({
      code: 'OSM_CERT_KEY_PROOF' satisfies CertificateErrorCode,
      severity: 'warning',
      message: `provider ${provider.name} signs only for keys that are with the control plane; service certificates are shared, and sidecars are sent their keys`,
      ...place,
      ...(object && { field: `${field}.serviceCertificates` }),
    })
  return problems
}

/** What objects request and the class that most proxies are of can't do. */
function* unsupportedFeatures(
  snapshot: Snapshot,
  { feed, configurator, registry, unsupported }: ProblemSources,
): Steps<readonly Problem[]> {
  const { sidecarClass } = configurator.current().sidecar
  if (!registry.names().includes(sidecarClass)) return []
  const { capabilities } = registry.get(sidecarClass)
  const problems: Problem[] = []
  for (const object of asking.flatMap((kind): readonly MeshObject[] => snapshot.list(kind))) {
    for (const { field, feature } of unsupported.of(object, capabilities))
      problems.push({
        code: 'OSM_ADMISSION_CAPABILITY',
        severity: 'warning',
        message: `sidecar class ${sidecarClass} cannot do this (${feature}); it is not enforced`,
        object: objectRef(object),
        origin: feed.locate(objectKey(object), field) ?? object.origin,
        field,
      })
    yield
  }
  return problems
}
