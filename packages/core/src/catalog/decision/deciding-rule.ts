import type { ServiceAccountRef } from '@osm-ts/driver-api'

import { makeObjectKey } from '../../spec/index.js'
import { targetAnalysis } from '../policy/access/grants.js'
import { sameName } from '../policy/parts/keys.js'
import type { SourceRef } from '../policy/parts/policy-part.js'
import { routeGroup } from '../policy/routing/route-groups.js'
import type { DecidingRule, DecisionContext } from './access-decision.js'

/**
 * What people wrote for a rule of a policy. Rules with one match are one rule of the policy. Of its origins, only those count that let in this caller.
 *
 * @param origins - of the rule; each TrafficTarget is followed by the routes that it names
 */
export function decidingRule(
  { computation, snapshot, locate }: Pick<DecisionContext, 'computation' | 'snapshot' | 'locate'>,
  origins: readonly SourceRef[],
  from: ServiceAccountRef,
): DecidingRule | undefined {
  const isTarget = ({ object }: SourceRef): boolean => object.kind === 'TrafficTarget'
  const letsIn = ({ object }: SourceRef): boolean =>
    computation.read(targetAnalysis, object)?.sources.some((source) => sameName(source, from)) === true
  const at = origins.findIndex((origin) => isTarget(origin) && letsIn(origin))
  const [source, route] = origins.slice(at)
  if (at === -1 || source === undefined) return undefined
  const { object, field = 'spec' } = source
  const target = snapshot.get('TrafficTarget', object.namespace, object.name)
  const origin = locate(makeObjectKey('TrafficTarget', object.namespace, object.name), field) ?? target?.origin
  if (origin === undefined) return undefined
  const group = route?.object.kind === 'HTTPRouteGroup' ? computation.read(routeGroup, route.object) : undefined
  const match = group?.matches.find((each) => each.field === route?.field)?.name
  return { object, origin, field, ...(match !== undefined && { match }) }
}
