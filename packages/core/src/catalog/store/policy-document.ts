import { type Part, type PartHash, policyDocument, type ProxyPart, type ProxyPolicy } from '@osm-ts/driver-api/policy'

import type { PolicyPart } from '../policy/parts/policy-part.js'

/** The document of a policy: its root and every part below it. */
export function documentOf(policy: PolicyPart<ProxyPart>): ProxyPolicy {
  const parts = new Map<PartHash, Part>()
  const open: PolicyPart[] = [...policy.children]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (parts.has(next.hash)) continue
    parts.set(next.hash, next.part)
    open.push(...next.children)
  }
  return policyDocument(policy.part, parts)
}
