import type { Steps } from '../../async/index.js'
import { formatObjectRef } from '../../problem.js'
import { objectRef, type KindMap } from '../objects.js'
import { splitApexName } from '../service-names.js'
import { doubt, fault, findings, inEach, missing, pendingFault, type CheckContext, type Finding } from './check.js'
import { splitClaim } from './claims.js'

type Split = KindMap['TrafficSplit']

/** TrafficSplits that share out nothing, or to no one. */
export function* checkTrafficSplit(split: Split, context: CheckContext): Steps<readonly Finding[]> {
  const { spec } = split
  const negative = spec.backends.flatMap(({ weight }, index) =>
    weight < 0
      ? [fault('OSM_SPEC_SPLIT_BACKENDS', `spec.backends[${index}].weight`, `must not be negative, got ${weight}`)]
      : [],
  )
  return findings(
    checkApex(split, context),
    spec.backends.length === 0 &&
      fault('OSM_SPEC_SPLIT_BACKENDS', 'spec.backends', 'is empty: name at least one service'),
    negative,
    spec.backends.length > 0 &&
      spec.backends.every(({ weight }) => weight === 0) &&
      doubt('OSM_SPEC_SPLIT_BACKENDS', 'spec.backends', 'has no weight above 0: the service gets no traffic'),
    yield* checkBackends(split, context),
    yield* checkMatches(split, context),
  )
}

function checkApex(split: Split, context: CheckContext): readonly Finding[] {
  const { snapshot, claims } = context
  const { metadata, spec } = split
  const { namespace } = metadata
  const [, second] = spec.service.split('.')
  if (second !== undefined && second !== namespace)
    return [
      fault(
        'OSM_SPEC_SPLIT_SERVICE',
        'spec.service',
        `names a service of namespace ${JSON.stringify(second)}; a split must be in the namespace of its apex, which here is ${JSON.stringify(namespace)}`,
      ),
    ]
  const apex = splitApexName(spec.service)
  const claim = splitClaim(split)
  const owner = claim === undefined ? undefined : claims.rival('split', claim, split)
  return findings(
    snapshot.get('Service', namespace, apex) === undefined &&
      pendingFault('OSM_SPEC_SPLIT_SERVICE', 'spec.service', missing(context, 'Service', namespace, apex)),
    owner !== undefined &&
      pendingFault(
        'OSM_SPEC_CONFLICT',
        'spec.service',
        `is already split by ${formatObjectRef(objectRef(owner))}, which takes precedence; add matches to one of them`,
      ),
  )
}

function checkBackends({ metadata, spec }: Split, context: CheckContext): Steps<readonly Finding[]> {
  const { snapshot } = context
  const seen = new Set<string>()
  return inEach(spec.backends, ({ service }, index) => {
    const field = `spec.backends[${index}].service`
    const repeated = seen.has(service)
    seen.add(service)
    return findings(
      snapshot.get('Service', metadata.namespace, service) === undefined &&
        pendingFault('OSM_SPEC_SPLIT_SERVICE', field, missing(context, 'Service', metadata.namespace, service)),
      repeated &&
        doubt('OSM_SPEC_SPLIT_BACKENDS', field, `${JSON.stringify(service)} is a backend twice; its weights are added`),
    )
  })
}

function checkMatches({ metadata, spec }: Split, context: CheckContext): Steps<readonly Finding[]> {
  const { snapshot } = context
  return inEach(spec.matches ?? [], ({ kind, name }, index) =>
    findings(
      snapshot.get('HTTPRouteGroup', metadata.namespace, name) === undefined &&
        pendingFault('OSM_SPEC_ROUTE', `spec.matches[${index}].name`, missing(context, kind, metadata.namespace, name)),
    ),
  )
}
