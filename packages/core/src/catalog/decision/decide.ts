import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import type { UpstreamPart } from '@osm-ts/driver-api/policy'

import { principalOf } from '../../identity/index.js'
import { nameKey, sameName } from '../policy/parts/keys.js'
import { isHttp } from '../policy/upstreams/protocol.js'
import { calledService, serviceModel } from '../policy/upstreams/services.js'
import type {
  AccessDecision,
  AccessQuestion,
  AccountDecision,
  CallerAnswer,
  DecisionContext,
} from './access-decision.js'
import { decidingRule } from './deciding-rule.js'
import { admittingRule, callerSide, type CallerSide } from './evaluate-policy.js'
import { explainDenial } from './explain-denial.js'
import { lowerHeaderNames, type MatchableRequest } from './match-route.js'
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
  const isRead = isHttp(port.protocol)
  const sent = sentRequest(question)
  const client = new PolicySides(computation).client(from, { ...to, port: port.port })
  const { upstreams, answer: own }: CallerSide =
    client === undefined ? { upstreams: [] } : callerSide(client.outbound, sent, question.serverName)
  // A sidecar without a route to the service knows none of its rules.
  const answer = client?.hasRoute === true ? own : undefined
  const arrivals = upstreams.flatMap(({ upstream: id, request }): readonly Arrival[] => {
    const upstream = client?.upstream(id)
    if (client === undefined || upstream?.service === undefined) return []
    const call = { from, hasRoute: client.hasRoute, service: upstream.service, upstream, request }
    return [isRead ? arrivingRequest(context, call) : { decisions: decisionsAt(context, call) }]
  })
  const refused = arrivals.length === 0 && isRead ? refusedPath(context, sent.path) : refusedEverywhere(arrivals)
  if (answer === undefined && refused !== undefined) return refusal(refused)
  const decisions = arrivals.flatMap((arrival) => arrival.decisions)
  if (decisions.length > 0) return summary(decisions, answer)
  if (answer === undefined)
    return refusal(
      own === undefined
        ? `no workload is behind ${service}`
        : `${nameKey(from)} may call nothing that ${service} leads to`,
    )
  const doing = answer.status === 'closed' ? 'closes connections' : `answers ${answer.status}`
  return { ...refusal(`the sidecar of the caller ${doing}: ${answer.reason}`), answer }
}

/** A request as the sidecar of the caller routes it: it merges slashes and refuses nothing. */
function sentRequest({ path: target = '/', method = 'GET', headers = {} }: AccessQuestion): MatchableRequest {
  const [path = '', ...query] = target.split('?')
  return {
    path: /^\/+$/.test(path) ? path : path.replaceAll(/\/+/g, '/'),
    method,
    headers: lowerHeaderNames(headers),
    query: query.join('?'),
  }
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

/** What becomes of a call behind one upstream. */
interface Arrival {
  readonly decisions: readonly AccountDecision[]
  /** Why sidecars there refuse the path. */
  readonly refused?: string
}

/** A request arrives, with a path that sidecars of the called side may refuse. */
function arrivingRequest(context: DecisionContext, call: Call): Arrival {
  const path = requestPath(call.request.path, context.escapedSlashes)
  if (path.ok)
    return {
      decisions: decisionsAt(context, {
        ...call,
        request: { ...call.request, path: path.path, readings: path.readings },
      }),
    }
  const refused = refusal400(path.reason)
  const decisions = decisionsAt(context, call).map((decision) =>
    decision.plaintext === true ? decision : { ...decision, allowed: false, reasons: [refused] },
  )
  return { decisions, refused }
}

/** Why a path is refused, wherever it arrives. Where there is no sidecar, no one refuses it. */
function refusedEverywhere(arrivals: readonly Arrival[]): string | undefined {
  const isRefused = ({ decisions, refused }: Arrival): boolean =>
    refused !== undefined && !decisions.some(({ plaintext }) => plaintext)
  return arrivals.every(isRefused) ? arrivals[0]?.refused : undefined
}

/** Why the called side answers 400; undefined if it does not. */
function refusedPath({ escapedSlashes }: DecisionContext, sent: string): string | undefined {
  const path = requestPath(sent, escapedSlashes)
  return path.ok ? undefined : refusal400(path.reason)
}

function refusal400(reason: string): string {
  return `the request is answered 400: ${reason}`
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

function summary(decisions: readonly AccountDecision[], answer: CallerAnswer | undefined): AccessDecision {
  if (answer !== undefined) {
    const what =
      answer.status === 'closed'
        ? 'a share of the connections is closed'
        : `a share of the requests is answered ${answer.status}`
    const share = `${what} by the sidecar of the caller: ${answer.reason}`
    return { ...summary(decisions, undefined), allowed: false, reason: share, answer }
  }
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

function refusal(reason: string): AccessDecision {
  return { allowed: false, reason, decisions: [] }
}
