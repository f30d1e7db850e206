import {
  formatObjectRef,
  makeObjectKey,
  type AccessDecision,
  type AccountDecision,
  type DecidingRule,
  type ObjectOrigin,
} from '@osm-ts/core'

import { renderSpans, span } from '../output/style.js'
import type { UnderstoodMesh } from './understand-mesh.js'
import { formatPlace } from './short-places.js'

/** The answer to `osm policy can`, for people: the rule that decides and where it is written down, or what comes nearest to allowing it. */
export function renderDecision(
  { allowed, reason, decisions }: AccessDecision,
  loaded: Pick<UnderstoodMesh, 'snapshot' | 'locate'>,
  { cwd, color }: { readonly cwd: string; readonly color: boolean },
): readonly string[] {
  // Where every workload behind the service is denied, their reasons below say more than the summary of them.
  const summary = allowed || decisions.length !== 0 ? '' : `  ${reason}`
  const head = renderSpans([span(allowed ? 'ALLOWED' : 'DENIED', allowed ? 'good' : 'bad'), span(summary)], color)
  return [head, ...decisions.flatMap((decision) => accountLines(decision, loaded, cwd, color))]
}

function accountLines(
  { service, account, allowed, rule, reasons }: AccountDecision,
  loaded: Pick<UnderstoodMesh, 'snapshot' | 'locate'>,
  cwd: string,
  color: boolean,
): readonly string[] {
  const where = `${service.namespace}/${service.name}, served by ${account.namespace}/${account.name}`
  const why = rule === undefined ? reasons : ruleLines(rule, loaded, cwd)
  return [
    renderSpans([span(allowed ? '  ✓ ' : '  ✗ ', allowed ? 'good' : 'bad'), span(where)], color),
    ...why.map((line) => renderSpans([span(`      ${line}`)], color)),
  ]
}

/** The TrafficTarget, and the route object that its rule names. */
function ruleLines(
  rule: DecidingRule,
  { snapshot, locate }: Pick<UnderstoodMesh, 'snapshot' | 'locate'>,
  cwd: string,
): readonly string[] {
  const line = (text: string, origin: ObjectOrigin | undefined): string =>
    origin === undefined ? text : `${text}  ${formatPlace(origin, cwd)}`
  const { namespace, name } = rule.object
  const own = line(`${formatObjectRef(rule.object)} ${rule.field}`, rule.origin)
  const index = /^spec\.rules\[(\d+)\]$/.exec(rule.field)?.[1]
  const used = snapshot.get('TrafficTarget', namespace, name)?.spec.rules[Number(index)]
  const kind = used?.kind
  if (used === undefined || (kind !== 'HTTPRouteGroup' && kind !== 'TCPRoute')) return [own]
  const matches = snapshot.get('HTTPRouteGroup', namespace, used.name)?.spec.matches ?? []
  const at = matches.findIndex((match) => match.name === rule.match)
  const origin = locate(makeObjectKey(kind, namespace, used.name), at < 0 ? undefined : `spec.matches[${at}]`)
  const routes = formatObjectRef({ kind, namespace, name: used.name })
  return [own, line(`${routes}${rule.match === undefined ? '' : ` match ${rule.match}`}`, origin)]
}
