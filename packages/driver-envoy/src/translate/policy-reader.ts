import {
  type IngressBinding,
  type IngressPart,
  type InboundBinding,
  type InboundPart,
  type SetMemberKind,
  type Part,
  type PartHash,
  type PartKind,
  type PartLookup,
  type PartOf,
  type PartRef,
  type PrincipalsPart,
  type ProxyPart,
  readPart,
  refOf,
  type PartInSet,
} from '@osm-ts/driver-api/policy'

import { contentVersion } from '../resources/encoded-resource.js'
import type { FragmentCache } from './encoding/fragments.js'
import type { Memo, MemoTable } from './encoding/memo.js'
import type { ResolvedRule } from './access/rbac.js'
import type { HttpLimits, Settings } from './settings.js'

/** A set with the sets inside it, as one list sorted by id. */
export interface Members<P extends Part> {
  /** Pins the parts of the list, however they are spread over sets, and anyone who reads them. Made when it is first requested. */
  readonly contents: string
  readonly list: readonly PartInSet<P>[]
}

/** A served port of a proxy, with everything that its rules refer to. */
export interface Served {
  readonly binding: InboundBinding
  readonly part: InboundPart
  /** Rules of an HTTP port. */
  readonly rules: readonly ResolvedRule[]
  /** Callers of a TCP port. */
  readonly callers: PrincipalsPart | undefined
  /** The part, and the principals that it names. */
  readonly sources: readonly PartRef[]
}

/** A port of a proxy that is served to callers from outside the mesh. */
export interface ServedOutside {
  readonly binding: IngressBinding
  readonly part: IngressPart
  /** Names of client certificates, where those are requested. */
  readonly callers: PrincipalsPart | undefined
  /** The part, and the principals that it names. */
  readonly sources: readonly PartRef[]
}

/**
 * What replicas of a workload have in common of their policies: nearly always all that is translated besides endpoints. What distinguishes one from
 * another is not here, so that no resource can depend on it.
 */
export type ReplicaPolicy = Omit<ProxyPart, 'id' | 'addresses' | 'locality' | 'endpoints' | 'workload'> & {
  /** Present where resources name their own pod: then each replica has resources of its own. */
  readonly workload?: ProxyPart['workload']
}

/** Takes from the policy of one replica what all of them have. */
export function replicaPolicy(proxy: ProxyPart, namesPod: boolean): ReplicaPolicy {
  const { id: _id, addresses: _addresses, locality: _locality, endpoints: _endpoints, workload, ...shared } = proxy
  return namesPod ? { ...shared, workload } : shared
}

/** Reads parts, and remembers sets as long as somebody needs them. */
export class PolicyReader {
  readonly #sets: MemoTable<Members<Part>>
  readonly #parts: PartLookup
  readonly #httpLimits: HttpLimits
  readonly #fragments: FragmentCache

  constructor(parts: PartLookup, sets: MemoTable<Members<Part>>, httpLimits: HttpLimits, fragments: FragmentCache) {
    this.#parts = parts
    this.#sets = sets
    this.#httpLimits = httpLimits
    this.#fragments = fragments
  }

  /** As `readPart`. */
  part<K extends PartKind>(hash: PartHash, kind: K): PartOf<K> {
    return readPart(this.#parts, hash, kind)
  }

  settings(proxy: ReplicaPolicy): Settings {
    const mesh = this.part(proxy.mesh, 'mesh')
    const trust = this.part(proxy.trust, 'trust')
    // Proxies of different identities share everything but the names that their spans bear.
    const named = mesh.tracing?.provider === 'opentelemetry'
    // A Workload API is asked for an identity by name: it may hold several for one proxy, and another one than that of the policy is of no use.
    const byId = trust.serviceCredential !== undefined
    const serviceName = named ? proxy.identity : undefined
    const fragments = this.#fragments.get(`${proxy.mesh}|${serviceName ?? ''}`)
    return {
      mesh: { ...mesh, httpLimits: this.#httpLimits, fragments, ...(serviceName !== undefined && { serviceName }) },
      trust: byId ? { ...trust, workloadApiId: proxy.spiffeId } : trust,
      key: `${proxy.trust}|${proxy.mesh}${named || byId ? `|${proxy.identity}` : ''}`,
      sources: [refOf(trust, proxy.trust), refOf(mesh, proxy.mesh)],
    }
  }

  /** Served ports, sorted by id. */
  served(proxy: ReplicaPolicy): readonly Served[] {
    return [...proxy.inbound].sort((a, b) => (a.id < b.id ? -1 : 1)).map((binding) => this.#served(binding))
  }

  /** Ports that are served to callers from outside the mesh, sorted by id. */
  servedOutside(proxy: ReplicaPolicy): readonly ServedOutside[] {
    return [...proxy.ingress]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((binding) => {
        const part = this.part(binding.part, 'ingress')
        const own = refOf(part, binding.part)
        if (part.allow === undefined) return { binding, part, callers: undefined, sources: [own] }
        const callers = this.part(part.allow, 'principals')
        return { binding, part, callers, sources: [own, refOf(callers, part.allow)] }
      })
  }

  /** Members of a set and of the sets inside it. */
  members<K extends SetMemberKind>(hash: PartHash | undefined, kind: K): Members<PartOf<K>> {
    if (hash === undefined) return { contents: '', list: [] }
    const members = this.#members(hash, kind, false)
    // What #members lists was read by `part` with that kind.
    return members as Members<PartOf<K>>
  }

  #members(hash: PartHash, kind: SetMemberKind, shortNames: boolean): Members<Part> {
    const key = shortNames ? `${hash}+` : hash
    return this.#sets.get(key, () => {
      const set = this.part(hash, 'set')
      const list = [
        ...set.members.map((member) => ({
          part: this.part(member.hash, kind),
          ref: { kind, id: member.id, hash: member.hash },
          shortNames,
        })),
        ...set.sets.flatMap((inner) => this.#members(inner.hash, kind, shortNames || inner.shortNames === true).list),
      ]
      list.sort((a, b) => (a.ref.id < b.ref.id ? -1 : 1))
      let contents: string | undefined
      return {
        get contents() {
          return (contents ??= contentVersion(list.map(({ ref }) => ref.hash).join('')))
        },
        list,
      }
    })
  }

  #served(binding: InboundBinding): Served {
    const part = this.part(binding.part, 'inbound')
    const own = refOf(part, binding.part)
    if (part.rules.kind === 'deny') return { binding, part, rules: [], callers: undefined, sources: [own] }
    if (part.rules.kind === 'tcp') {
      const callers = this.part(part.rules.allow, 'principals')
      return { binding, part, rules: [], callers, sources: [own, refOf(callers, part.rules.allow)] }
    }
    const rules = part.rules.allow.map(({ match, allow }) => ({
      match,
      allow: this.part(allow, 'principals'),
      hash: allow,
    }))
    const principals = new Map(rules.map(({ allow, hash }) => [hash, refOf(allow, hash)]))
    return { binding, part, rules, callers: undefined, sources: [own, ...principals.values()] }
  }
}

/** The table that a {@link PolicyReader} remembers sets in. */
export function setTable(memo: Memo): MemoTable<Members<Part>> {
  return memo.table<Members<Part>>()
}
