import { compareText, type WeightedUpstream } from '@osm-ts/driver-api/policy'

import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import {
  nameKey,
  servicePortKey,
  targetPortKey,
  type NamespacedName,
  type ServicePortRef,
  type TargetPortRef,
} from '../parts/keys.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { isHttp } from '../upstreams/protocol.js'
import { serviceModel, type MeshServicePort } from '../upstreams/services.js'
import { splitAnalysis, type SplitBackend } from './split-plan.js'
import { upstreamOfPort } from '../upstreams/upstreams.js'

/** One port of an apex under one TrafficSplit. */
export interface SplitPortRef {
  readonly split: NamespacedName
  readonly apexPort: ServicePortRef
}

/** Where a share of the traffic goes. */
export interface SplitTarget {
  readonly upstream: TargetPortRef
  readonly weight: number
}

/** The backends of a split at one port of its apex. */
export interface SplitTargets {
  /** False: no backend has a port that fits, so that the split does not concern this port. */
  readonly applies: boolean
  /** Sorted by upstream. */
  readonly targets: readonly SplitTarget[]
  readonly problems: readonly PolicyProblem[]
}

/**
 * Backends at one port of the apex. A backend is called on its port of the same number, else on its port of the same name. A backend without workloads
 * takes no share: no one could answer.
 */
export const splitTargets = defineQuery<CatalogState, SplitPortRef, SplitTargets>({
  name: 'split-targets',
  keyOf: ({ split, apexPort }) => `${nameKey(split)}@${servicePortKey(apexPort)}`,
  equal: deepEqual,
  compute: (context, { split, apexPort }) => {
    const problems = new ProblemList(objectRefOf('TrafficSplit', split))
    const apexModel = context.get(serviceModel, { namespace: apexPort.namespace, name: apexPort.name })
    const port = apexModel?.ports.find((candidate) => candidate.port === apexPort.port)
    if (port === undefined) return { applies: false, targets: [], problems: [] }
    const weights = new Map<string, SplitTarget>()
    let applies = false
    const backends = context.get(splitAnalysis, split)?.backends ?? []
    for (const backend of backends) {
      const fitting = fittingPort(context, backend, port, problems)
      if (fitting === undefined) continue
      applies = true
      const upstream = context.get(upstreamOfPort, { ...backend.service, port: fitting.port })
      if (upstream === undefined) continue
      const key = targetPortKey(upstream)
      weights.set(key, { upstream, weight: (weights.get(key)?.weight ?? 0) + backend.weight })
    }
    const targets = [...weights].sort(([a], [b]) => compareText(a, b)).map(([, target]) => target)
    if (!applies && backends.length > 0) {
      const message = `no backend has a port that fits port ${port.port} of the apex, so the TrafficSplit does not apply to it`
      // One word on the port instead of one on each backend.
      const whole = new ProblemList(objectRefOf('TrafficSplit', split))
      whole.warning('OSM_POLICY_SPLIT_PORT', 'spec.backends', message)
      return { applies, targets, problems: whole.items }
    }
    return { applies, targets, problems: problems.items }
  },
})

/** Shares by id of the upstream. */
export function weightedUpstreams(targets: readonly SplitTarget[]): readonly WeightedUpstream[] {
  return targets.map(({ upstream, weight }) => ({ upstream: targetPortKey(upstream), weight }))
}

function fittingPort(
  context: QueryContext<CatalogState>,
  { service, field }: SplitBackend,
  apexPort: MeshServicePort,
  problems: ProblemList,
): MeshServicePort | undefined {
  const ports = context.get(serviceModel, service)?.ports ?? []
  const port =
    ports.find((candidate) => candidate.port === apexPort.port) ??
    ports.find((candidate) => candidate.name !== undefined && candidate.name === apexPort.name)
  const place = `${field}.service`
  if (port === undefined) {
    const name = apexPort.name === undefined ? '' : ` and none named ${apexPort.name}`
    problems.warning(
      'OSM_POLICY_SPLIT_PORT',
      place,
      `Service ${nameKey(service)} has no port ${apexPort.port}${name}; its share of that port goes to the others`,
    )
    return undefined
  }
  if (isHttp(port.protocol) !== isHttp(apexPort.protocol)) {
    const message = `port ${port.port} of Service ${nameKey(service)} speaks ${port.protocol}, that of the apex ${apexPort.protocol}; its share goes to the others`
    problems.warning('OSM_POLICY_SPLIT_PROTOCOL', place, message)
    return undefined
  }
  return port
}
