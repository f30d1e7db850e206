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
 * Returns the errors of a part that its schema cannot detect: unsorted lists, contradictory fields, invalid addresses.
 */
export function checkPart(part: Part): readonly PolicyIssue[] {
  const issues = new IssueList()
  checkPartInto(part, issues)
  return issues.issues
}

/**
 * Returns the errors of a document that its schemas cannot detect: everything that {@link checkPart} finds, wrong hashes, unresolved references or
 * references of the wrong kind, unreferenced parts, duplicate ids in the closure of a set, private keys, and selectors of traffic with two owners:
 * (address, port), (host, port), (SNI name, port), (source, port).
 *
 * For tests, for the boundary of a process and for tools; the cost grows with the document.
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
