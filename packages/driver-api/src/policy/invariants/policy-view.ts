import type {
  ClientRulesPart,
  EgressPart,
  EndpointsPart,
  InboundBinding,
  InboundPart,
  IngressBinding,
  IngressPart,
  OutboundPart,
  Part,
  PartHash,
  PartKind,
  PartOf,
  SetPart,
  TrustPart,
  UpstreamPart,
} from '../parts.js'
import type { ProxyPolicy } from '../policy.js'

/** A part and where the document has it. */
export interface Located<P> {
  readonly part: P
  /** JSON pointer into the document. */
  readonly pointer: string
}

/** An outbound part as this proxy reads it. */
export interface LocatedOutbound extends Located<OutboundPart> {
  /** True if its short host name holds too. */
  readonly shortNames: boolean
}

/** A document with its references resolved; what does not resolve is left out. */
export interface PolicyView {
  readonly trust: TrustPart | undefined
  readonly inbound: readonly { readonly binding: InboundBinding; readonly index: number; readonly part: InboundPart }[]
  readonly ingress: readonly { readonly binding: IngressBinding; readonly index: number; readonly part: IngressPart }[]
  readonly outbound: readonly LocatedOutbound[]
  readonly upstreams: readonly Located<UpstreamPart>[]
  readonly endpoints: readonly Located<EndpointsPart>[]
  readonly egress: readonly Located<EgressPart>[]
  readonly clientRules: Located<ClientRulesPart> | undefined
}

/** Resolves the references of a document. */
export function viewPolicy({ proxy, parts }: ProxyPolicy): PolicyView {
  const find = <K extends PartKind>(hash: PartHash | undefined, kind: K): PartOf<K> | undefined => {
    const part: Part | undefined = hash === undefined || !Object.hasOwn(parts, hash) ? undefined : parts[hash]
    // The kinds are equal, so the part is of that kind.
    return part?.kind === kind ? (part as PartOf<K>) : undefined
  }
  const served = <K extends 'inbound' | 'ingress'>(kind: K) =>
    proxy[kind].flatMap((binding, index) => {
      const part = find(binding.part, kind)
      return part === undefined ? [] : [{ binding, index, part }]
    })
  const members = <K extends 'outbound' | 'upstream' | 'endpoints' | 'egress'>(root: PartHash | undefined, kind: K) =>
    setMembers(root, (hash) => find(hash, 'set')).flatMap(({ hash, shortNames }) => {
      const part = find(hash, kind)
      return part === undefined ? [] : [{ part, shortNames, pointer: `/parts/${hash}` }]
    })
  const clientRules = find(proxy.clientRules, 'clientRules')
  return {
    trust: find(proxy.trust, 'trust'),
    inbound: served('inbound'),
    ingress: served('ingress'),
    outbound: members(proxy.outbound, 'outbound'),
    upstreams: members(proxy.upstreams, 'upstream'),
    endpoints: members(proxy.endpoints, 'endpoints'),
    egress: members(proxy.egress, 'egress'),
    clientRules:
      clientRules === undefined ? undefined : { part: clientRules, pointer: `/parts/${String(proxy.clientRules)}` },
  }
}

interface ReachedMember {
  readonly hash: PartHash
  readonly shortNames: boolean
}

function setMembers(
  root: PartHash | undefined,
  find: (hash: PartHash) => SetPart | undefined,
): readonly ReachedMember[] {
  const found: ReachedMember[] = []
  const visited = new Set<PartHash>()
  const visit = (hash: PartHash, shortNames: boolean): void => {
    const set = find(hash)
    // Content addresses exclude cycles, but the document at hand may lie about them.
    if (set === undefined || visited.has(hash)) return
    visited.add(hash)
    found.push(...set.members.map((member) => ({ hash: member.hash, shortNames })))
    for (const inner of set.sets) visit(inner.hash, shortNames || inner.shortNames === true)
  }
  if (root !== undefined) visit(root, false)
  return found
}
