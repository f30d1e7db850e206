import type { ServiceAccountRef } from '@osm-ts/driver-api'
import { compareText, type SetMemberKind, type SetPart, type SetRef } from '@osm-ts/driver-api/policy'

import { defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { egressUpstreamSet, gatewaySet } from '../egress/egress-parts.js'
import { nameKey, servicePortKey, targetPortKey, type TargetPortRef } from './keys.js'
import { calledParts, outboundPart } from '../routing/outbound.js'
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

interface NamespaceSetRef extends ScopedNamespace {
  readonly of: SetKind
}

/**
 * The parts of one kind that a namespace offers to a scope. In permissive mode that is one set for the whole mesh; under SMI policy, accounts that may call
 * the same services of a namespace share it, because equal sets have one hash.
 */
const namespaceSet = defineQuery<CatalogState, NamespaceSetRef, PolicyPart<SetPart> | undefined>({
  name: 'namespace-set',
  keyOf: (key) => `${key.of} ${scopedNamespaceKey(key)}`,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, { of, scope, namespace }) => {
    const members = membersOf(context, of, { scope, namespace })
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

function membersOf(context: Context, of: SetKind, key: ScopedNamespace): readonly PolicyPart[] {
  const called = context.get(servicesInScope, key).map((service) => context.get(calledParts, service))
  // Services share upstreams: an apex those of its backends.
  const members = new Map<string, PolicyPart | undefined>()
  for (const { ports, upstreams } of called) {
    if (of === 'outbound') for (const port of ports) members.set(servicePortKey(port), context.get(outboundPart, port))
    else for (const upstream of upstreams) members.set(targetPortKey(upstream), upstreamMember(context, of, upstream))
  }
  return [...members.values()].filter((part) => part !== undefined).sort((a, b) => compareText(a.part.id, b.part.id))
}

function upstreamMember(context: Context, of: 'upstream' | 'endpoints', key: TargetPortRef): PolicyPart | undefined {
  return of === 'upstream' ? context.get(upstreamPart, key) : context.get(endpointsFrame, key)
}

/** A set of everything of a kind that a scope offers. */
export interface RootSetRef {
  readonly of: SetKind
  readonly scope: Scope
  /** `outbound` sets: namespace of the readers, whose short names hold. */
  readonly readers: string
  /**
   * `upstream` and `endpoints` sets: an account whose ways out of the mesh belong to the set; absent where it has none, so that others can share the
   * set.
   */
  readonly egressOf?: ServiceAccountRef
}

/** Everything of a kind that a scope offers; undefined if there is nothing. */
export const rootSet = defineQuery<CatalogState, RootSetRef, PolicyPart<SetPart> | undefined>({
  name: 'root-set',
  keyOf: ({ of, scope, readers, egressOf }) =>
    `${of} ${scopeKey(scope)}>${readers}>${egressOf === undefined ? '' : nameKey(egressOf)}`,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, { of, scope, readers, egressOf }) => {
    const nested = context.get(namespacesInScope, scope).flatMap((namespace) => {
      const set = context.get(namespaceSet, { of, scope, namespace })
      return set === undefined ? [] : [{ set, isShort: of === 'outbound' && namespace === readers }]
    })
    const outside = egressOf === undefined ? [] : waysOut(context, of, egressOf)
    const all = [...nested, ...outside.map((set) => ({ set, isShort: false }))]
    if (all.length === 0) return undefined
    const sets = all
      .map(({ set: { part, hash }, isShort }): SetRef => ({ hash, id: part.id, ...(isShort && { shortNames: true }) }))
      .sort((a, b) => compareText(a.id, b.id))
    return makePart<SetPart>({ id: of, kind: 'set', members: [], of, sets }, { children: all.map(({ set }) => set) })
  },
})

function waysOut(context: Context, of: SetKind, account: ServiceAccountRef): readonly PolicyPart<SetPart>[] {
  if (of === 'outbound') return []
  const egress = of === 'upstream' ? context.get(egressUpstreamSet, account) : undefined
  return [egress, context.get(gatewaySet, { of, account })].filter((set) => set !== undefined)
}
