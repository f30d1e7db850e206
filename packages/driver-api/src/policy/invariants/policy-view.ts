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
  /** The part. */
  readonly part: P
  /** JSON pointer into the document. */
  readonly pointer: string
}

/** An outbound part as this proxy reads it. */
export interface LocatedOutbound extends Located<OutboundPart> {
  /** True if its short host name holds too. */
  readonly shortNames: boolean
}

/** A served part and its binding. */
export interface Served<B, P> {
  /** Its proxy-specific properties. */
  readonly binding: B
  /** Place of the binding in its list. */
  readonly index: number
  /** The part. */
  readonly part: P
}

/** A document with its references resolved; unresolved references are omitted. */
export interface PolicyView {
  /** Trust of the proxy. */
  readonly trust: TrustPart | undefined
  /** Ports served to the mesh. */
  readonly inbound: readonly Served<InboundBinding, InboundPart>[]
  /** Ports served to others. */
  readonly ingress: readonly Served<IngressBinding, IngressPart>[]
  /** Service ports that the proxy may call. */
  readonly outbound: readonly LocatedOutbound[]
  /** Upstreams of traffic. */
  readonly upstreams: readonly Located<UpstreamPart>[]
  /** Addresses of the upstreams. */
  readonly endpoints: readonly Located<EndpointsPart>[]
  /** Destinations outside the mesh. */
  readonly egress: readonly Located<EgressPart>[]
  /** Rules of the proxy's identity. */
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
    // Content addresses exclude cycles, but this document may lie about them.
    if (set === undefined || visited.has(hash)) return
    visited.add(hash)
    found.push(...set.members.map((member) => ({ hash: member.hash, shortNames })))
    for (const inner of set.sets) visit(inner.hash, shortNames || inner.shortNames === true)
  }
  if (root !== undefined) visit(root, false)
  return found
}
