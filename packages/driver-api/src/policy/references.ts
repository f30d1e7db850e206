import type { Part, PartHash, PartKind, ProxyPart, SetMemberKind, SetPart } from './parts.js'

/** A place in a part that names another part by hash. */
export interface PartReference {
  /** JSON pointer into the part that refers. */
  readonly pointer: string
  /** What is referred to. */
  readonly hash: PartHash
  /** Required kind. */
  readonly kind: PartKind
  /** Required id; absent for any id. */
  readonly id?: string
  /** Required kind of the members of a set. */
  readonly of?: SetMemberKind
}

/** The places in a part that name others by hash, in the order of the part. References by id (a route's upstream) are not among them. */
export function partReferences(part: Part): readonly PartReference[] {
  switch (part.kind) {
    case 'proxy':
      return proxyReferences(part)
    case 'inbound':
      if (part.rules.kind === 'deny') return []
      if (part.rules.kind === 'tcp') return [{ pointer: '/rules/allow', hash: part.rules.allow, kind: 'principals' }]
      return part.rules.allow.map(({ allow }, index) => ({
        pointer: `/rules/allow/${index}/allow`,
        hash: allow,
        kind: 'principals',
      }))
    case 'ingress':
      return part.allow === undefined ? [] : [{ pointer: '/allow', hash: part.allow, kind: 'principals' }]
    case 'set':
      return [
        ...part.members.map(({ id, hash }, index): PartReference => ({
          pointer: `/members/${index}`,
          hash,
          kind: part.of,
          id,
        })),
        ...part.sets.map(({ id, hash }, index): PartReference => ({
          pointer: `/sets/${index}`,
          hash,
          kind: 'set',
          id,
          of: part.of,
        })),
      ]
    default:
      return []
  }
}

function proxyReferences(part: ProxyPart): readonly PartReference[] {
  const bindings = (name: 'inbound' | 'ingress'): readonly PartReference[] =>
    part[name].map(({ part: hash, id }, index) => ({ pointer: `/${name}/${index}/part`, hash, kind: name, id }))
  const optional = (
    pointer: string,
    hash: PartHash | undefined,
    wanted: Omit<PartReference, 'pointer' | 'hash'>,
  ): readonly PartReference[] => (hash === undefined ? [] : [{ pointer, hash, ...wanted }])
  return [
    { pointer: '/trust', hash: part.trust, kind: 'trust' },
    { pointer: '/mesh', hash: part.mesh, kind: 'mesh' },
    ...bindings('inbound'),
    ...bindings('ingress'),
    ...optional('/outbound', part.outbound, { kind: 'set', of: 'outbound' }),
    ...optional('/upstreams', part.upstreams, { kind: 'set', of: 'upstream' }),
    ...optional('/endpoints', part.endpoints, { kind: 'set', of: 'endpoints' }),
    ...optional('/egress', part.egress, { kind: 'set', of: 'egress' }),
    ...optional('/clientRules', part.clientRules, { kind: 'clientRules', id: part.identity }),
    ...optional('/dns', part.dns, { kind: 'dns' }),
    ...part.extensions.map((hash, index): PartReference => ({
      pointer: `/extensions/${index}`,
      hash,
      kind: 'extension',
    })),
  ]
}

/** Hashes that a part refers to, in the order of the part, each once. */
export function partRefs(part: Part): readonly PartHash[] {
  if (part.kind === 'proxy') return [...proxyHashes(part)]
  if (part.kind === 'set') return [...setHashes(part)]
  return [...new Set(partReferences(part).map(({ hash }) => hash))]
}

/** Those of a set are as often used: it has a member for each service that is called. */
function setHashes({ members, sets }: SetPart): ReadonlySet<PartHash> {
  const hashes = new Set<PartHash>()
  for (const { hash } of members) hashes.add(hash)
  for (const { hash } of sets) hashes.add(hash)
  return hashes
}

/** Who follows a proxy needs no pointers, and uses its references on every change. */
function proxyHashes(part: ProxyPart): ReadonlySet<PartHash> {
  const { outbound, upstreams, endpoints, egress, clientRules, dns } = part
  const hashes = new Set<PartHash>([part.trust, part.mesh])
  for (const binding of part.inbound) hashes.add(binding.part)
  for (const binding of part.ingress) hashes.add(binding.part)
  for (const hash of [outbound, upstreams, endpoints, egress, clientRules, dns])
    if (hash !== undefined) hashes.add(hash)
  for (const hash of part.extensions) hashes.add(hash)
  return hashes
}
