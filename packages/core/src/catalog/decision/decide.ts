import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import { resolveTargetPort } from '../../endpoints/index.js'
import type { ObjectOrigin, ObjectRef } from '../../problem.js'
import type { Snapshot } from '../../snapshot/index.js'
import { objectKey, objectRef, type KindMap, type MeshObject, type ObjectKey } from '../../spec/index.js'
import { callees, speaksHttp, tcpPorts, type Callee } from './callees.js'
import { type EscapedSlashes, requestPath } from './request-path.js'
import { judge, type Verdict } from './judge.js'

/** May this caller make this request? */
export interface AccessQuestion {
  readonly from: ServiceAccountRef
  readonly to: MeshService
  /** Port of the service; its lowest when absent. */
  readonly port?: number
  /** Of no account on ports that do not speak HTTP, like path and headers. */
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The rule that lets a request in. */
export interface DecidingRule {
  readonly object: ObjectRef
  readonly origin: ObjectOrigin
  /** Path of the rule inside the object. */
  readonly field: string
  /** Name of the match that the request meets; absent for rules without matches. */
  readonly match?: string
}

/** The answer for the workloads of one account behind one service. */
export interface AccountDecision {
  readonly service: MeshService
  readonly account: ServiceAccountRef
  readonly allowed: boolean
  /** True: no sidecar is in front of these workloads, and the mesh speaks no plaintext to them. Nothing arrives that a rule could be about. */
  readonly unreachable?: true
  /** True: these workloads have no sidecar and are spoken to in the clear, so that no one there decides anything. */
  readonly plaintext?: true
  readonly rule?: DecidingRule
  /** Why; for a denial what comes nearest to allowing the request, most relevant first. */
  readonly reasons: readonly string[]
}

/** The answer. */
export interface AccessDecision {
  /** True: wherever the request ends up it is let in. */
  readonly allowed: boolean
  /** Rule that lets it in, when all workloads let it in. */
  readonly rule?: DecidingRule
  /** In one sentence. */
  readonly reason: string
  /** One answer for each service and account that the request may end up at. */
  readonly decisions: readonly AccountDecision[]
}

/** What decisions are made with. */
export interface DecisionContext {
  /** Objects that the mesh acts on. */
  readonly snapshot: Snapshot
  readonly permissive: boolean
  /** Accounts that run the workloads of a service. */
  readonly accountsOf: (service: MeshService) => readonly ServiceAccountRef[]
  /** Accounts behind a service whose workloads all lack a sidecar, as far as anybody knows them. */
  readonly withoutSidecar: (service: MeshService) => readonly ServiceAccountRef[]
  /** True if the mesh speaks plaintext to workloads of a namespace that have no sidecar. */
  readonly allowsPlaintext: (namespace: string) => boolean
  /** What served ports do with paths that hold escaped slashes. */
  readonly escapedSlashes: EscapedSlashes
  /** False for Services outside the mesh, which Egress rules are about. */
  readonly isServed: (service: MeshService) => boolean
  /** True if a namespace takes part in the mesh. */
  readonly isMember: (namespace: string) => boolean
  /** False for accounts that can have no certificate. */
  readonly isUsable: (account: ServiceAccountRef) => boolean
  /** Where an object or a field of it is written down. */
  readonly locate: (key: ObjectKey, field: string) => ObjectOrigin | undefined
}

/**
 * Who may call what, read off the objects themselves: the policy parts are another way to say the same, and tests hold one against the other.
 */
export function decide(context: DecisionContext, question: AccessQuestion): AccessDecision {
  const { snapshot } = context
  const { namespace, name } = question.to
  const service = snapshot.get('Service', namespace, name)
  if (service === undefined) return refusal(`there is no Service ${namespace}/${name} in the mesh`)
  if (!context.isServed(question.to))
    return refusal(
      `Service ${namespace}/${name} is outside the mesh: it selects nothing, and no workload of the mesh is behind it; Egress rules are about it`,
    )
  const ports = tcpPorts(service)
  const port = question.port === undefined ? ports[0] : ports.find((candidate) => candidate.port === question.port)
  if (port === undefined) {
    const known = ports.map((candidate) => candidate.port).join(', ')
    return refusal(`Service ${namespace}/${name} has no TCP port ${question.port ?? ''}; it has ${known || 'none'}`)
  }
  if (!context.isMember(question.from.namespace))
    return refusal(`namespace ${question.from.namespace} of the caller does not take part in the mesh`)
  if (!context.isUsable(question.from)) return refusal('the caller cannot have a certificate, so it is never allowed')
  const path = requestPath(question.path ?? '/', context.escapedSlashes)
  const refused = speaksHttp(port) && !path.ok ? `the request is answered 400: ${path.reason}` : undefined
  const request = {
    path: path.ok ? path.path : sentPath(question.path ?? '/'),
    method: question.method ?? 'GET',
    headers: lowerNames(question.headers ?? {}),
  }
  const hasWorkloads = (callee: MeshService): boolean => context.accountsOf(callee).some(context.isUsable)
  const reached = callees({ snapshot, hasWorkloads, isServed: context.isServed }, service, port, request)
  const served = { ...request, readings: path.ok ? path.readings : [] }
  const judged = reached.flatMap((callee) => decisionsAt(context, callee, question.from, served))
  // Sidecars of the called side refuse paths. Where there is none, no one does.
  if (refused !== undefined && !judged.some(({ plaintext }) => plaintext)) return refusal(refused)
  const decisions =
    refused === undefined
      ? judged
      : judged.map((decision) => (decision.plaintext ? decision : { ...decision, allowed: false, reasons: [refused] }))
  if (decisions.length === 0) return refusal(`no workload is behind Service ${namespace}/${name}`)
  return summary(decisions)
}

function decisionsAt(
  context: DecisionContext,
  callee: Callee,
  from: ServiceAccountRef,
  request: Parameters<typeof judge>[0]['request'],
): readonly AccountDecision[] {
  const { service, port } = callee
  const accounts = context.accountsOf(service).filter((account) => context.isUsable(account))
  const bare = context.withoutSidecar(service)
  const lacks = (account: ServiceAccountRef): boolean => bare.some((each) => sameAccount(each, account))
  const inTheClear = context.allowsPlaintext(service.namespace)
  // While some workloads have sidecars, those without get nothing.
  if (!inTheClear && accounts.every(lacks))
    return accounts.map((account) => ({
      service,
      account,
      allowed: false,
      unreachable: true,
      reasons: [`unreachable: none of the workloads behind Service ${service.namespace}/${service.name} has a sidecar`],
    }))
  return accounts
    .filter((account) => inTheClear || !lacks(account))
    .flatMap((account) => {
      const targetPorts = targetPortsOf(context.snapshot, callee, account)
      if (context.permissive) return [permissiveDecision(service, account, lacks(account))]
      return targetPorts.map((targetPort): AccountDecision => {
        const verdict = judge({
          snapshot: context.snapshot,
          from,
          to: account,
          http: speaksHttp(port),
          targetPort,
          request,
        })
        return { service, account, ...outcome(context, verdict) }
      })
    })
}

function permissiveDecision(service: MeshService, account: ServiceAccountRef, inTheClear: boolean): AccountDecision {
  const plaintext = `; in plaintext, because the workloads have no sidecar and plaintextNamespaces names ${service.namespace}`
  const reason = 'permissive mode is on: every workload of the mesh may call every service'
  return inTheClear
    ? { service, account, allowed: true, plaintext: true, reasons: [`${reason}${plaintext}`] }
    : { service, account, allowed: true, reasons: [reason] }
}

function sameAccount(a: ServiceAccountRef, b: ServiceAccountRef): boolean {
  return a.namespace === b.namespace && a.name === b.name
}

/** Ports of the workloads of an account that a service port leads to: one, unless the port is named and they disagree. */
function targetPortsOf(snapshot: Snapshot, { service, port }: Callee, account: ServiceAccountRef): readonly number[] {
  if (typeof port.targetPort !== 'string') return [port.targetPort ?? port.port]
  const object = snapshot.get('Service', service.namespace, service.name)
  if (object === undefined) return []
  const members = [...snapshot.instancesOf(object), ...snapshot.workloadsOf(object)]
  const own = members.filter(({ spec }) => spec.serviceAccountName === account.name)
  return [...new Set(own.flatMap(({ spec }) => resolveTargetPort(port, spec.ports) ?? []))].sort((a, b) => a - b)
}

function outcome(context: DecisionContext, verdict: Verdict): Pick<AccountDecision, 'allowed' | 'rule' | 'reasons'> {
  if (!verdict.allowed) return { allowed: false, reasons: verdict.reasons }
  const { target, field, match } = verdict
  const rule: DecidingRule = {
    object: objectRef(target),
    origin: originOf(context, target, field),
    field,
    ...(match === undefined ? {} : { match }),
  }
  const by = match === undefined ? field : `${field}, match ${match}`
  return { allowed: true, rule, reasons: [`TrafficTarget ${nameOf(target)} allows it by ${by}`] }
}

function originOf(context: DecisionContext, object: MeshObject, field: string): ObjectOrigin {
  return context.locate(objectKey(object), field) ?? object.origin
}

function summary(decisions: readonly AccountDecision[]): AccessDecision {
  const [first] = decisions
  const denied = decisions.filter(({ allowed }) => !allowed)
  const [nearest] = denied
  if (nearest === undefined)
    return { allowed: true, ...(first?.rule ? { rule: first.rule } : {}), reason: first?.reasons[0] ?? '', decisions }
  const where = `workloads of ${nearest.account.namespace}/${nearest.account.name} behind Service ${nearest.service.namespace}/${nearest.service.name}`
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

function nameOf({ metadata: { namespace, name } }: KindMap['TrafficTarget']): string {
  return `${namespace}/${name}`
}

function lowerNames(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
