import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import { compareText, type SetMemberKind, type SetPart, type SetRef } from '@osm-ts/driver-api/policy'

import { deepEqual, defineQuery, textKey, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { egressUpstreamSet, gatewaySet } from '../egress/egress-parts.js'
import { consumedPorts } from '../gateway/route-plan.js'
import { calledBy, calledParts, outboundPart } from '../routing/outbound.js'
import { nameKey, networkKey, readersKey, sameName, servicePortKey, targetPortKey, type TargetPortRef } from './keys.js'
import { keepPart, makePart, samePart, type PolicyPart } from './policy-part.js'
import {
  namespacesInScope,
  scopedNamespaceKey,
  scopeKey,
  servicesInScope,
  type Scope,
  type ScopedNamespace,
} from './reach.js'
import { endpointsFrame, upstreamPart } from '../upstreams/upstreams.js'

type SetKind = Exclude<SetMemberKind, 'egress'>
type Context = QueryContext<CatalogState>

interface CalledNamespace extends ScopedNamespace {
  /** Namespace of the readers, if it has routes of its own for services of the called one. */
  readonly readers?: string
}

interface NamespaceSetRef extends CalledNamespace {
  readonly of: SetKind
  /** Of `endpoints` sets: network of the proxies; absent for that of the mesh. */
  readonly network?: string
}

function calledNamespaceKey(key: CalledNamespace): string {
  return `${scopedNamespaceKey(key)}${readersKey(key)}`
}

/**
 * The parts of one kind that a namespace offers to a scope. In permissive mode that is one set for the whole mesh; under SMI policy, accounts that may call
 * the same services of a namespace share it, because equal sets have one hash.
 */
const namespaceSet = defineQuery<CatalogState, NamespaceSetRef, PolicyPart<SetPart> | undefined>({
  name: 'namespace-set',
  keyOf: (key) => `${key.of} ${calledNamespaceKey(key)}${networkKey(key.network)}`,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, { of, network, ...called }) => {
    const { namespace } = called
    const members = membersOf(context, { of, network }, called)
    if (members.length === 0) return undefined
    return makePart<SetPart>(
      {
        // Members of parts that are created again all the time are in the order of canonical JSON, so that none need be sorted.
        id: `${of}/${namespace}`,
        kind: 'set',
        members: members.map(({ part, hash }) => ({ hash, id: part.id })),
        of,
        sets: [],
      },
      { children: members },
    )
  },
})

function membersOf(context: Context, { of, network }: Wanted<SetKind>, called: CalledNamespace): readonly PolicyPart[] {
  const members =
    of === 'outbound'
      ? outboundMembers(context, called)
      : context
          .get(calledUpstreams, called)
          .filter(({ namespace }) => namespace === called.namespace)
          .map((upstream) => upstreamMember(context, { of, network }, upstream))
  return sortedParts(members)
}

function outboundMembers(context: Context, called: CalledNamespace): readonly (PolicyPart | undefined)[] {
  const ports = servicesOf(context, called).flatMap(({ readers, ...service }) =>
    context.get(calledParts, calledBy(service, readers)).ports.map((port) => calledBy(port, readers)),
  )
  const distinct = new Map(ports.map((port) => [servicePortKey(port), port]))
  return [...distinct.values()].map((port) => context.get(outboundPart, port))
}

/** Where calls to services of a namespace lead, each once: services share upstreams, an apex those of its backends. Some may be of other namespaces. */
const calledUpstreams = defineQuery<CatalogState, CalledNamespace, readonly TargetPortRef[]>({
  name: 'called-upstreams',
  keyOf: calledNamespaceKey,
  equal: deepEqual,
  compute: (context, called) => {
    const upstreams = servicesOf(context, called).flatMap((service) => context.get(calledParts, service).upstreams)
    return [...new Map(upstreams.map((upstream) => [targetPortKey(upstream), upstream])).values()]
  },
})

/** Services of a namespace, with the readers where these have routes of their own. */
function servicesOf(
  context: Context,
  { readers, ...key }: CalledNamespace,
): readonly (MeshService & { readonly readers?: string })[] {
  const consumed = readers === undefined ? [] : context.get(consumedPorts, readers)
  return context
    .get(servicesInScope, key)
    .map((service) => (consumed.some((port) => sameName(port, service)) ? calledBy(service, readers) : service))
}

function sortedParts(parts: readonly (PolicyPart | undefined)[]): readonly PolicyPart[] {
  return parts.filter((part) => part !== undefined).sort((a, b) => compareText(a.part.id, b.part.id))
}

/** Parts of a kind, `endpoints` as proxies of a network reach them. */
interface Wanted<K extends SetKind> {
  readonly of: K
  readonly network: string | undefined
}

function upstreamMember(
  context: Context,
  { of, network }: Wanted<'upstream' | 'endpoints'>,
  key: TargetPortRef,
): PolicyPart | undefined {
  if (of === 'upstream') return context.get(upstreamPart, key)
  return context.get(endpointsFrame, network === undefined ? key : { ...key, network })
}

/** A set of everything of a kind that a scope offers. */
export interface RootSetRef {
  readonly of: SetKind
  readonly scope: Scope
  /** Namespace of the readers: of `outbound` sets, whose short names hold; of others empty where the namespace has no routes of its own for services of others. */
  readonly readers: string
  /**
   * `upstream` and `endpoints` sets: an account whose egress sets belong to the set; absent where it has none, so that others can share the
   * set.
   */
  readonly egressOf?: ServiceAccountRef
  /** Of `endpoints` sets: network of the proxies; absent for that of the mesh. */
  readonly network?: string
}

/** Everything of a kind that a scope offers; undefined if there is nothing. */
export const rootSet = defineQuery<CatalogState, RootSetRef, PolicyPart<SetPart> | undefined>({
  name: 'root-set',
  keyOf: ({ of, scope, readers, egressOf, network }) =>
    `${of} ${scopeKey(scope)}>${readers}>${egressOf === undefined ? '' : nameKey(egressOf)}${networkKey(network)}`,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, { of, scope, readers, egressOf, network }) => {
    const inNetwork = network === undefined ? {} : { network }
    const called = calledNamespaces(context, scope, readers)
    const nested = called.flatMap((each) => {
      const set = context.get(namespaceSet, { of, ...each, ...inNetwork })
      return set === undefined ? [] : [{ set, isShort: of === 'outbound' && each.namespace === readers }]
    })
    const outside = egressOf === undefined ? [] : egressSets(context, of, egressOf, inNetwork)
    const all = [...nested, ...outside.map((set) => ({ set, isShort: false }))]
    const abroad =
      of === 'outbound' ? [] : upstreamsAbroad(context, { of, network }, { called, sets: nested.map(({ set }) => set) })
    if (all.length === 0 && abroad.length === 0) return undefined
    const sets = all
      .map(({ set: { part, hash }, isShort }): SetRef => ({ hash, id: part.id, ...(isShort && { shortNames: true }) }))
      .sort((a, b) => compareText(a.id, b.id))
    const members = abroad.map(({ part, hash }) => ({ hash, id: part.id }))
    return makePart<SetPart>(
      { id: of, kind: 'set', members, of, sets },
      { children: [...all.map(({ set }) => set), ...abroad] },
    )
  },
})

function calledNamespaces(context: Context, scope: Scope, readers: string): readonly CalledNamespace[] {
  const consumed = new Set(context.get(consumedPorts, readers).map(({ namespace }) => namespace))
  return context
    .get(namespacesInScope, scope)
    .map((namespace) => calledBy({ scope, namespace }, consumed.has(namespace) ? readers : undefined))
}

/** Upstreams that only routes from other namespaces lead to. No part may be in two sets of a policy. */
function upstreamsAbroad(
  context: Context,
  wanted: Wanted<'upstream' | 'endpoints'>,
  { called, sets }: { readonly called: readonly CalledNamespace[]; readonly sets: readonly PolicyPart<SetPart>[] },
): readonly PolicyPart[] {
  const abroad = new Map(
    called.flatMap((each) =>
      context
        .get(calledUpstreams, each)
        .filter(({ namespace }) => namespace !== each.namespace)
        .map((upstream) => [targetPortKey(upstream), upstream] as const),
    ),
  )
  if (abroad.size === 0) return []
  const members = new Set(sets.flatMap(({ part }) => part.members.map(({ id }) => id)))
  const found = [...abroad].filter(([key]) => !members.has(key))
  return sortedParts(found.map(([, upstream]) => upstreamMember(context, wanted, upstream)))
}

/** Whom a reader of `upstream` and `endpoints` sets shares them with: those of its namespace, if that has routes of its own for services of others, or all. */
export const upstreamReaders = defineQuery<CatalogState, string, string>({
  name: 'upstream-readers',
  keyOf: textKey,
  equal: (a, b) => a === b,
  compute: (context, namespace) => (context.get(consumedPorts, namespace).length === 0 ? '' : namespace),
})

function egressSets(
  context: Context,
  of: SetKind,
  account: ServiceAccountRef,
  network: { readonly network?: string },
): readonly PolicyPart<SetPart>[] {
  if (of === 'outbound') return []
  const egress = of === 'upstream' ? context.get(egressUpstreamSet, account) : undefined
  return [egress, context.get(gatewaySet, { of, account, ...network })].filter((set) => set !== undefined)
}
