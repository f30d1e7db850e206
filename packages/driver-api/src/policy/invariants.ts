import { checkGraph } from './invariants/graph.js'
import { checkNames } from './invariants/names.js'
import { checkOwners } from './invariants/owners.js'
import { checkPartFields } from './invariants/part-fields.js'
import { checkPartOrder } from './invariants/part-order.js'
import { viewPolicy } from './invariants/policy-view.js'
import { IssueList, type PolicyIssue } from './issues.js'
import type { Part } from './parts.js'
import type { ProxyPolicy } from './policy.js'

/**
 * What a part that fits its schema still does wrong by itself: unsorted lists, fields that contradict each other, addresses that are none.
 */
export function checkPart(part: Part): readonly PolicyIssue[] {
  const issues = new IssueList()
  checkPartInto(part, issues)
  return issues.issues
}

/**
 * What a document whose parts fit their schemas still does wrong: everything {@link checkPart} finds, hashes that do not match, references that do not
 * resolve or resolve to the wrong kind, parts that nothing refers to, ids twice in the closure of a set, private keys, and whatever selects traffic
 * and has two owners: (address, port), (host, port), (SNI name, port), (source, port).
 *
 * Meant for tests, for the edge of a process and for tools; the work grows with the document.
 */
export function checkPolicy(policy: ProxyPolicy): readonly PolicyIssue[] {
  const issues = new IssueList()
  checkPartInto(policy.proxy, issues.below('proxy'))
  for (const [hash, part] of Object.entries(policy.parts)) checkPartInto(part, issues.below('parts', hash))
  checkGraph(policy, issues)
  const view = viewPolicy(policy)
  checkNames(policy, view, issues)
  checkOwners(policy, view, issues)
  return issues.issues
}

function checkPartInto(part: Part, issues: IssueList): void {
  checkPartOrder(part, issues)
  checkPartFields(part, issues)
}
