import { canonicalJson, type PartHash, type ProxyPart } from '@osm-ts/driver-api/policy'

import type { Steps } from '../async/index.js'
import type { CatalogErrorCode } from '../catalog/error-codes.js'
import type { PolicyPart, SourceRef } from '../catalog/policy/parts/policy-part.js'
import { proxyKey, type ProxyKey } from '../identity/proxy-key.js'
import { serviceIdentity } from '../identity/service-identity.js'
import type { PolicyProvider, ProxyInstance } from './policy-provider.js'
import type { PolicyStream } from './policy-stream.js'
import { refusalsByProxy } from './proxy-observations.js'
import type { Refusal } from './refusal.js'
import type { ProxyStatus, RefusedPeerStatus, RejectedPart, StatusCondition } from './status.js'

/** A status names this many sources of a refused part at most: enough to act on, and no list of the whole mesh. */
const MAX_SOURCES = 20

/** What statuses are made from. */
export interface StatusInput {
  readonly instances: readonly ProxyInstance[]
  readonly policies: Pick<PolicyProvider, 'policyFor' | 'whole' | 'takesTraffic'>
  readonly streamOf: (proxy: ProxyKey) => PolicyStream | undefined
  /** What the driver has said of the proxy. */
  readonly conditionsOf: (proxy: ProxyKey) => readonly StatusCondition[]
  /** Whom drivers have refused. */
  readonly refused: readonly RefusedPeerStatus[]
}

/** Where every proxy stands, and whom drivers have refused recently that is none of them. */
export interface ProxyReport {
  readonly proxies: readonly ProxyStatus[]
  readonly refused: readonly RefusedPeerStatus[]
}

/** Where every proxy stands, in the order of the instances; and who was refused that is none of them. Each step looks at a proxy. */
export function* proxyStatuses(input: StatusInput): Steps<ProxyReport> {
  const { instances, policies, streamOf, conditionsOf } = input
  const keyed: { readonly instance: ProxyInstance; readonly proxy: ProxyKey }[] = []
  for (const instance of instances) {
    keyed.push({ instance, proxy: proxyKey(instance) })
    yield
  }
  const places = keyed
    .filter(({ instance }) => ownsProxy(instance))
    .map(({ instance, proxy }) => ({ proxy, addresses: instance.addresses }))
  const refused = refusalsByProxy(input.refused, places)
  const statusOfKeyed = ({ instance, proxy }: (typeof keyed)[number]): ProxyStatus => {
    const shared = sharedConditions(instance)
    // All that is known of the proxy is about the instance that it belongs to.
    if (!ownsProxy(instance)) return { ...statusOf(instance, undefined, undefined), conditions: shared }
    const conditions = [...conditionsOf(proxy), ...(refused.get(proxy) ?? []).map(conditionOf), ...shared]
    const policy = policies.policyFor(proxy)
    const wanted = policy && { policy, version: policies.whole(policy).hash }
    const status = statusOf(instance, wanted, streamOf(proxy))
    // Callers still have it among their endpoints, or are about to be told of it.
    return { ...status, ready: status.ready || policies.takesTraffic(proxy), conditions }
  }
  const proxies: ProxyStatus[] = []
  for (const each of keyed) {
    proxies.push(statusOfKeyed(each))
    yield
  }
  return { proxies, refused: refused.get(undefined) ?? [] }
}

function ownsProxy({ name, sharing }: ProxyInstance): boolean {
  return sharing === undefined || sharing.owner === name
}

function sharedConditions({ sharing, name }: ProxyInstance): readonly StatusCondition[] {
  if (sharing === undefined) return []
  const { owner, count, since } = sharing
  const holds =
    owner === name ? 'it is the oldest and has the proxy' : `the proxy belongs to ${owner}, the oldest of them`
  const message = `${count} instances share one uuid, namespace and service account; ${holds}`
  return [{ code: 'OSM_POLICY_PROXY_DUPLICATE' satisfies CatalogErrorCode, message, since }]
}

function conditionOf({ code, message, since, last, times, address }: RefusedPeerStatus): StatusCondition {
  return { code, message: `${message} (from ${address})`, since, last, times }
}

/** A policy in force, and the version of its document. */
interface Wanted {
  readonly policy: PolicyPart<ProxyPart>
  readonly version: PartHash
}

function statusOf(
  instance: ProxyInstance,
  wanted: Wanted | undefined,
  stream: PolicyStream | undefined,
): Omit<ProxyStatus, 'conditions'> {
  const progress = stream?.progress
  const applied = progress?.appliedVersion
  const isWanted = wanted !== undefined && (applied === wanted.version || applied === wanted.policy.hash)
  const isApplied = isWanted && progress?.hasEndpoints === true
  // A proxy that has its policy, but not all endpoints, has another document than it should.
  const appliedVersion = isApplied ? wanted.version : applied
  const rejected = [...(progress?.rejected.values() ?? [])].map(rejectedPart)
  const base = {
    uuid: instance.uuid,
    name: `${instance.serviceAccount.namespace}/${instance.name}`,
    identity: serviceIdentity(instance.serviceAccount),
    class: instance.class,
    connected: stream !== undefined,
    ready: instance.ready,
    ...(instance.serviceCredential === undefined ? {} : { serviceCredential: instance.serviceCredential }),
    revision: progress?.revision ?? 0,
    appliedRevision: progress?.appliedRevision ?? 0,
    rejected,
    denied: progress?.denied ?? [],
    ...(wanted === undefined ? {} : { wantedVersion: wanted.version }),
    ...(appliedVersion === undefined ? {} : { appliedVersion }),
    ...(progress?.lastReport === undefined ? {} : { lastReport: new Date(progress.lastReport).toISOString() }),
  }
  if (progress === undefined) return { ...base, state: 'stale' }
  if (rejected.length > 0) return { ...base, state: 'rejected' }
  return { ...base, state: isApplied ? 'applied' : 'unknown' }
}

function rejectedPart({ report, part }: Refusal): RejectedPart {
  return {
    kind: part?.part.kind ?? 'unknown',
    id: report.id,
    message: report.message ?? '',
    sources: part === undefined ? [] : sourcesOf(part, report.element),
  }
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
