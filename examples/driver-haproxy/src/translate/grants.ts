import {
  canonicalJson,
  type InboundBinding,
  type InboundPart,
  type PartHash,
  type TrustPart,
} from '@osm-ts/driver-api/policy'

import type { HaproxyPolicyReader } from './policy-reader.js'

/** Each thing that lets callers in, as text: a root, or a caller with what it may do at a port. What is there still needs no end of what it let in. */
export function grantsOf(
  bindings: readonly InboundBinding[],
  trust: TrustPart,
  reader: HaproxyPolicyReader,
): readonly string[] {
  const ports = bindings.flatMap((binding) => {
    const part = reader.part(binding.part, 'inbound')
    const { id, protocol, serverNames, externalAuthorization } = part
    const isAsked = externalAuthorization !== undefined
    return rulesOf(part).flatMap(({ match, allow }) =>
      callersOf(allow, reader).map((caller) =>
        canonicalJson({ id, protocol, serverNames, isAsked, local: binding.local, match, caller }),
      ),
    )
  })
  return [...new Set([...trust.roots, ...ports])].sort()
}

function rulesOf({ rules }: InboundPart): readonly { readonly match: object; readonly allow: PartHash }[] {
  switch (rules.kind) {
    case 'http':
      return rules.allow
    case 'tcp':
      return [{ match: {}, allow: rules.allow }]
    case 'deny':
      return []
  }
}

function callersOf(hash: PartHash, reader: HaproxyPolicyReader): readonly string[] {
  const part = reader.part(hash, 'principals')
  return part.match === 'list' ? part.principals : [`*.${part.trustDomain}`]
}
