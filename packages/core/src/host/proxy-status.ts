import { canonicalJson, type PartReport, type ProxyPart, type ProxyUUID } from '@osm-ts/driver-api'

import type { PolicyPart, SourceRef } from '../catalog/policy/policy-part.js'
import { serviceIdentity } from '../identity/service-identity.js'
import type { PolicyProvider, ProxyInstance } from './policy-provider.js'
import type { PolicyStream } from './policy-stream.js'
import { refusalsByProxy } from './proxy-observations.js'
import type { ProxyStatus, RefusedPeerStatus, RejectedPart, StatusCondition } from './status.js'

/** A status names this many sources of a refused part at most: enough to act on, and no list of the whole mesh. */
const MAX_SOURCES = 20

/** What statuses are made from. */
export interface StatusInput {
  readonly instances: readonly ProxyInstance[]
  readonly policies: Pick<PolicyProvider, 'policyFor'>
  readonly streamOf: (uuid: ProxyUUID) => PolicyStream | undefined
  /** What the driver has said of the proxy. */
  readonly conditionsOf: (uuid: ProxyUUID) => readonly StatusCondition[]
  /** Whom drivers have turned away. */
  readonly refused: readonly RefusedPeerStatus[]
}

/** Where every proxy stands, in the order of the instances; and who was turned away that is none of them. */
export function proxyStatuses(input: StatusInput): {
  readonly proxies: readonly ProxyStatus[]
  readonly refused: readonly RefusedPeerStatus[]
} {
  const { instances, policies, streamOf, conditionsOf } = input
  const places = instances.map(({ uuid }) => ({ uuid, addresses: policies.policyFor(uuid)?.part.addresses ?? [] }))
  const refused = refusalsByProxy(input.refused, places)
  const proxies = instances.map((instance) => {
    const { uuid } = instance
    const conditions = [...conditionsOf(uuid), ...(refused.get(uuid) ?? []).map(conditionOf)]
    return { ...statusOf(instance, policies.policyFor(uuid), streamOf(uuid)), conditions }
  })
  return { proxies, refused: refused.get(undefined) ?? [] }
}

function conditionOf({ code, message, since, last, times, address }: RefusedPeerStatus): StatusCondition {
  return { code, message: `${message} (from ${address})`, since, last, times }
}

function statusOf(
  instance: ProxyInstance,
  wanted: PolicyPart<ProxyPart> | undefined,
  stream: PolicyStream | undefined,
): Omit<ProxyStatus, 'conditions'> {
  const progress = stream?.progress
  const given = stream?.current
  const rejected =
    progress === undefined ? [] : [...progress.rejected.values()].map((report) => rejectedPart(report, [wanted, given]))
  const base = {
    uuid: instance.uuid,
    name: `${instance.serviceAccount.namespace}/${instance.name}`,
    identity: serviceIdentity(instance.serviceAccount),
    class: instance.class,
    connected: stream !== undefined,
    ready: instance.ready,
    revision: progress?.revision ?? 0,
    appliedRevision: progress?.appliedRevision ?? 0,
    rejected,
    denied: progress?.denied ?? [],
    ...(wanted === undefined ? {} : { wantedVersion: wanted.hash }),
    ...(progress?.appliedVersion === undefined ? {} : { appliedVersion: progress.appliedVersion }),
    ...(progress?.lastReport === undefined ? {} : { lastReport: new Date(progress.lastReport).toISOString() }),
  }
  if (progress === undefined) return { ...base, state: 'stale' }
  if (rejected.length > 0) return { ...base, state: 'rejected' }
  const settled = progress.appliedVersion !== undefined && progress.appliedVersion === wanted?.hash
  return { ...base, state: settled ? 'applied' : 'unknown' }
}

function rejectedPart(report: PartReport, policies: readonly (PolicyPart<ProxyPart> | undefined)[]): RejectedPart {
  const part = policies
    .map((policy) => (policy === undefined ? undefined : findPart(policy, report)))
    .find((found) => found !== undefined)
  return {
    kind: part?.part.kind ?? 'unknown',
    id: report.id,
    message: report.message ?? '',
    sources: part === undefined ? [] : sourcesOf(part, report.element),
  }
}

function findPart(policy: PolicyPart, { hash, id }: PartReport): PolicyPart | undefined {
  const open: PolicyPart[] = [policy]
  let sameId: PolicyPart | undefined
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.hash === hash) return next
    // A newer policy may hold the part of that id under another hash: better than no origin at all.
    if (next.part.id === id && sameId === undefined) sameId = next
    open.push(...next.children)
  }
  return sameId
}

/** The origins of the element, or of the nearest element around it that has any; those of the whole part where nothing tells which element it is. */
function sourcesOf(part: PolicyPart, element: string | undefined): readonly SourceRef[] {
  for (let pointer = element ?? ''; pointer !== ''; pointer = pointer.slice(0, pointer.lastIndexOf('/'))) {
    const sources = part.origins[pointer]
    if (sources !== undefined && sources.length > 0) return sources
  }
  const all = new Map(
    Object.values(part.origins).flatMap((sources) => sources.map((source) => [canonicalJson(source), source])),
  )
  return [...all.values()].slice(0, MAX_SOURCES)
}
