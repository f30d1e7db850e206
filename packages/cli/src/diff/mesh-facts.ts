import { formatObjectRef, type KindMap, proxyKeyOfInstance } from '@osm-ts/core'
import type { Principal } from '@osm-ts/driver-api'
import type { InboundPart, Part, PartHash } from '@osm-ts/driver-api/policy'

import { describeMatch } from '../proxy/policy-summary.js'
import type { MeshModel } from '../spec/load-mesh-model.js'
import { type CallSets, nameOf } from './call-routes.js'

/** A kind of request that a caller may make. */
export interface Access {
  /** `<namespace>/<service account>`, the name in another certificate, or `any identity of <trust domain>`. */
  readonly caller: string
  /** `<namespace>/<service>:<port>` */
  readonly destination: string
  readonly protocol: InboundPart['protocol']
  /** Path, methods and headers in words. */
  readonly request: string
  /** Objects that allow it, and fields of them. */
  readonly allowedBy: readonly string[]
}

/** The same with the part that allows it, see {@link MeshFacts.allowedBy}. */
export type AccessFact = Omit<Access, 'allowedBy'> & { readonly part: PartHash }

/** What a mesh lets its workloads do, by keys under which two meshes can be compared. */
export interface MeshFacts {
  readonly access: ReadonlyMap<string, AccessFact>
  /** What each caller calls, by `<namespace>/<service account>`. */
  readonly calls: ReadonlyMap<string, CallSets>
  /** Version of the policy by proxy: `<namespace>/<instance>`. */
  readonly versions: ReadonlyMap<string, string>
  /** Objects that allow an access, and fields of them. They are looked up in their files. */
  readonly allowedBy: (fact: AccessFact) => readonly string[]
}

/**
 * Reads the policies of all proxies of a mesh. Parts are read once, however many proxies have them: in permissive mode, the parts of every service are in
 * every policy.
 */
export function meshFacts({ snapshot, catalog }: Pick<MeshModel, 'snapshot' | 'catalog'>): MeshFacts {
  const facts = new FactsBuilder(catalog)
  for (const instance of snapshot.list('WorkloadInstance')) facts.add(instance)
  return facts
}

type Instance = KindMap['WorkloadInstance']

class FactsBuilder implements MeshFacts {
  readonly access = new Map<string, AccessFact>()
  readonly calls = new Map<string, CallSets & { readonly sets: Set<PartHash> }>()
  readonly versions = new Map<string, string>()
  readonly #catalog: MeshModel['catalog']
  readonly #read = new Set<PartHash>()

  constructor(catalog: MeshModel['catalog']) {
    this.#catalog = catalog
  }

  add(instance: Instance): void {
    const policy = this.#catalog.policyFor(proxyKeyOfInstance(instance))
    if (policy === undefined) return
    const { metadata, spec } = instance
    const { inbound, outbound, egress, spiffeId } = policy.part
    // The whole policy: one in force has the same hash whatever its endpoints are.
    this.versions.set(`${metadata.namespace}/${metadata.name}`, this.#catalog.whole(policy).hash)
    for (const { part } of inbound) {
      if (this.#read.has(part)) continue
      this.#read.add(part)
      this.#addInbound(part, spiffeId)
    }
    const account = `${metadata.namespace}/${spec.serviceAccountName}`
    const calls = this.calls.get(account) ?? { sets: new Set(), find: this.#find }
    for (const set of [outbound, egress]) if (set !== undefined) calls.sets.add(set)
    this.calls.set(account, calls)
  }

  allowedBy = ({ part }: AccessFact): readonly string[] =>
    this.#catalog.originsOf(part).map(({ object, field }) => [formatObjectRef(object), field].filter(Boolean).join(' '))

  #find = (hash: PartHash): Part => this.#catalog.part(hash)

  #addInbound(hash: PartHash, spiffeId: string): void {
    const part = this.#find(hash)
    if (part.kind !== 'inbound' || part.rules.kind === 'deny') return
    const rules =
      part.rules.kind === 'tcp'
        ? [{ request: 'any connection', allow: part.rules.allow }]
        : part.rules.allow.map(({ match, allow }) => ({ request: describeMatch(match), allow }))
    const { protocol } = part
    const destination = nameOf(part.service, part.port)
    for (const { request, allow } of rules)
      for (const caller of callersOf(this.#find(allow), spiffeId)) {
        const key = [caller, destination, protocol, request].join('\0')
        this.access.set(key, { caller, destination, protocol, request, part: hash })
      }
  }
}

function callersOf(part: Part, spiffeId: string): readonly string[] {
  if (part.kind !== 'principals') return []
  if (part.match === 'trustDomain') return [`any identity of ${part.trustDomain}`]
  return part.principals.map((principal) => callerName(principal, spiffeId))
}

/** A principal of the mesh is `<account>.<namespace>.<trust domain>`; namespaces have no dots. */
function callerName(principal: Principal, spiffeId: string): string {
  const trustDomain = /^spiffe:\/\/(?<domain>[^/]+)\//.exec(spiffeId)?.groups?.['domain'] ?? ''
  const suffix = `.${trustDomain}`
  if (trustDomain === '' || !principal.endsWith(suffix)) return principal
  const name = principal.slice(0, -suffix.length)
  const dot = name.lastIndexOf('.')
  return dot < 1 ? principal : `${name.slice(dot + 1)}/${name.slice(0, dot)}`
}
