import { formatObjectRef, makeObjectKey, type AccessDecision, type DecidingRule } from '@osm-ts/core'

import { type AnswerStyle, renderAnswer, withPlace } from './render-answer.js'
import type { MeshModel } from './load-mesh-model.js'

/** The answer to `osm policy can`, for people: the rule that decides and where it is written down, or what comes nearest to allowing it. */
export function renderDecision(
  { allowed, reason, decisions, answer }: AccessDecision,
  loaded: Pick<MeshModel, 'snapshot' | 'locate'>,
  { cwd, color }: AnswerStyle,
): readonly string[] {
  // Where every workload behind the service is denied, their reasons below say more than the summary of them.
  const summary = allowed || (decisions.length !== 0 && answer === undefined) ? '' : reason
  const parts = decisions.map(({ service, account, allowed, rule, reasons }) => ({
    what: `${service.namespace}/${service.name}, served by ${account.namespace}/${account.name}`,
    allowed,
    why: rule === undefined ? reasons : ruleLines(rule, loaded, cwd),
  }))
  return renderAnswer({ allowed, summary, parts }, color)
}

/** The TrafficTarget, and the route object that its rule names. */
function ruleLines(
  rule: DecidingRule,
  { snapshot, locate }: Pick<MeshModel, 'snapshot' | 'locate'>,
  cwd: string,
): readonly string[] {
  const { namespace, name } = rule.object
  const own = withPlace(`${formatObjectRef(rule.object)} ${rule.field}`, rule.origin, cwd)
  const index = /^spec\.rules\[(\d+)\]$/.exec(rule.field)?.[1]
  const used = snapshot.get('TrafficTarget', namespace, name)?.spec.rules[Number(index)]
  const kind = used?.kind
  if (used === undefined || (kind !== 'HTTPRouteGroup' && kind !== 'TCPRoute')) return [own]
  const matches = snapshot.get('HTTPRouteGroup', namespace, used.name)?.spec.matches ?? []
  const at = matches.findIndex((match) => match.name === rule.match)
  const origin = locate(makeObjectKey(kind, namespace, used.name), at < 0 ? undefined : `spec.matches[${at}]`)
  const routes = formatObjectRef({ kind, namespace, name: used.name })
  return [own, withPlace(`${routes}${rule.match === undefined ? '' : ` match ${rule.match}`}`, origin, cwd)]
}
