import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import type { UpstreamPart } from '@osm-ts/driver-api/policy'

import { principalOf } from '../../identity/index.js'
import { nameKey, sameName } from '../policy/parts/keys.js'
import { isHttp } from '../policy/upstreams/protocol.js'
import { calledService, serviceModel } from '../policy/upstreams/services.js'
import type { AccessDecision, AccessQuestion, AccountDecision, DecisionContext } from './access-decision.js'
import { decidingRule } from './deciding-rule.js'
import { admittingRule, chosenUpstreams } from './evaluate-policy.js'
import { explainDenial } from './explain-denial.js'
import type { MatchableRequest } from './match-route.js'
import { PolicySides } from './policy-sides.js'
import { requestPath } from './request-path.js'

/**
 * Who may call what, decided as sidecars decide it: the policy of the caller says where a request goes, and the policy of the called workload whether it is
 * let in. Objects are read for the reasons alone.
 */
export function decide(context: DecisionContext, question: AccessQuestion): AccessDecision {
  const { computation, snapshot } = context
  const { from, to } = question
  const service = `Service ${nameKey(to)}`
  if (snapshot.get('Service', to.namespace, to.name) === undefined) return refusal(`there is no ${service} in the mesh`)
  const ports = computation.read(serviceModel, to)?.ports
  if (ports === undefined)
    return refusal(
      `${service} is outside the mesh: it selects nothing, and no workload of the mesh is behind it; Egress rules are about it`,
    )
  const port = question.port === undefined ? ports[0] : ports.find((candidate) => candidate.port === question.port)
  if (port === undefined) {
    const known = ports.map((candidate) => candidate.port).join(', ')
    return refusal(`${service} has no TCP port ${question.port ?? ''}; it has ${known || 'none'}`)
  }
  if (!context.isMember(from.namespace))
    return refusal(`namespace ${from.namespace} of the caller does not take part in the mesh`)
  if (!context.isUsable(from)) return refusal('the caller cannot have a certificate, so it is never allowed')
  const path = requestPath(question.path ?? '/', context.escapedSlashes)
  const refused = isHttp(port.protocol) && !path.ok ? `the request is answered 400: ${path.reason}` : undefined
  const request = {
    path: path.ok ? path.path : sentPath(question.path ?? '/'),
    method: question.method ?? 'GET',
    headers: lowerNames(question.headers ?? {}),
    query: (question.path ?? '').split('?').slice(1).join('?'),
  }
  const client = new PolicySides(computation).client(from, { ...to, port: port.port })
  const served = { ...request, readings: path.ok ? path.readings : [] }
  const judged =
    client === undefined
      ? []
      : chosenUpstreams(client.outbound, served).flatMap(({ upstream: id, request: sent }) => {
          const upstream = client.upstream(id)
          if (upstream?.service === undefined) return []
          const { hasRoute } = client
          return decisionsAt(context, { from, hasRoute, service: upstream.service, upstream, request: sent })
        })
  // Sidecars of the called side refuse paths. Where there is none, no one does.
  if (refused !== undefined && !judged.some(({ plaintext }) => plaintext)) return refusal(refused)
  const decisions =
    refused === undefined
      ? judged
      : judged.map((decision) => (decision.plaintext ? decision : { ...decision, allowed: false, reasons: [refused] }))
  if (decisions.length === 0) return refusal(`no workload is behind ${service}`)
  return summary(decisions)
}

/** A call as it leaves the sidecar of the caller. */
interface Call {
  readonly from: ServiceAccountRef
  /** False: the policy of the caller has no route to the service. */
  readonly hasRoute: boolean
  readonly service: MeshService
  readonly upstream: UpstreamPart
  readonly request: MatchableRequest
}

/** One answer for each account, and port of its workloads, that the call may end up at. */
function decisionsAt(context: DecisionContext, call: Call): readonly AccountDecision[] {
  const { service, upstream } = call
  const { parent } = calledService(service)
  const accounts = context.accountsOf(parent).filter((account) => context.isUsable(account))
  const bare = context.withoutSidecar(parent)
  const lacks = (account: ServiceAccountRef): boolean => bare.some((each) => sameName(each, account))
  const speaksPlaintext = upstream.tls.mode === 'mesh' && upstream.tls.plaintext === true
  // While some workloads have sidecars, those without get nothing.
  if (!speaksPlaintext && accounts.every(lacks)) {
    const reason = `unreachable: none of the workloads behind Service ${nameKey(service)} has a sidecar`
    return accounts.map((account) => ({ service, account, allowed: false, unreachable: true, reasons: [reason] }))
  }
  const sides = new PolicySides(context.computation)
  return accounts
    .filter((account) => speaksPlaintext || !lacks(account))
    .flatMap((account) =>
      lacks(account)
        ? [inPlaintext(service, account)]
        : sides
            .targetPorts(account, parent, upstream)
            .map((targetPort) => ({ service, account, ...decideAt(context, sides, call, account, targetPort) })),
    )
}

const PERMISSIVE = 'permissive mode is on: every workload of the mesh may call every service'

function inPlaintext(service: MeshService, account: ServiceAccountRef): AccountDecision {
  const how = `in plaintext, because the workloads have no sidecar and plaintextNamespaces names ${service.namespace}`
  return { service, account, allowed: true, plaintext: true, reasons: [`${PERMISSIVE}; ${how}`] }
}

/** What the sidecars of both sides do with a call to one port of the workloads of an account. */
function decideAt(
  context: DecisionContext,
  sides: PolicySides,
  { from, hasRoute, service, upstream, request }: Call,
  to: ServiceAccountRef,
  targetPort: number,
): Pick<AccountDecision, 'allowed' | 'rule' | 'reasons'> {
  const { computation, trustDomain } = context
  const server = sides.server(to, calledService(service).parent, targetPort)
  const { tls } = upstream
  const isExpected =
    tls.mode === 'mesh' &&
    tls.principals.includes(principalOf(to, trustDomain)) &&
    server?.inbound.part.serverNames.includes(tls.serverName) === true
  const pointer =
    server && isExpected && hasRoute
      ? admittingRule(server.inbound.part, principalOf(from, trustDomain), request, server.principals)
      : undefined
  if (server === undefined || pointer === undefined) {
    const http = isHttp(upstream.protocol)
    return { allowed: false, reasons: explainDenial(computation, { from, to, http, targetPort, request }) }
  }
  const rule = decidingRule(context, server.inbound.origins[pointer] ?? [], from)
  if (rule === undefined) return { allowed: true, reasons: [PERMISSIVE] }
  const by = rule.match === undefined ? rule.field : `${rule.field}, match ${rule.match}`
  return { allowed: true, rule, reasons: [`TrafficTarget ${nameKey(rule.object)} allows it by ${by}`] }
}

function summary(decisions: readonly AccountDecision[]): AccessDecision {
  const [first] = decisions
  const denied = decisions.filter(({ allowed }) => !allowed)
  const [nearest] = denied
  if (nearest === undefined)
    return { allowed: true, ...(first?.rule ? { rule: first.rule } : {}), reason: first?.reasons[0] ?? '', decisions }
  const where = `workloads of ${nameKey(nearest.account)} behind Service ${nameKey(nearest.service)}`
  if (nearest.unreachable === true && denied.length === decisions.length)
    return { allowed: false, reason: nearest.reasons[0] ?? 'unreachable', decisions }
  const some = denied.length < decisions.length ? 'depends on where it ends up: ' : ''
  return {
    allowed: false,
    reason: `${some}${where} refuse it: ${nearest.reasons[0] ?? 'nothing allows it'}`,
    decisions,
  }
}

function sentPath(target: string): string {
  return target.split('?')[0] ?? ''
}

function refusal(reason: string): AccessDecision {
  return { allowed: false, reason, decisions: [] }
}

function lowerNames(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
