import type { PartReport } from '@osm-ts/driver-api'

import type { PolicyPart } from '../catalog/policy/parts/policy-part.js'

/** A part that a proxy, or its class, refuses. */
export interface Refusal {
  readonly report: PartReport
  /** The part as it was given, also when later policies no longer have it: its origins are what a user can mend. */
  readonly part: PolicyPart | undefined
}

/** The part that a report is about, in the first of the policies that has it. */
export function findPart(policies: readonly PolicyPart[], report: PartReport): PolicyPart | undefined {
  let sameId: PolicyPart | undefined
  for (const policy of policies) {
    const open: PolicyPart[] = [policy]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next.hash === report.hash) return next
      // Another policy may hold the part of that id under another hash: better than no origin at all.
      if (next.part.id === report.id && sameId === undefined) sameId = next
      open.push(...next.children)
    }
  }
  return sameId
}
