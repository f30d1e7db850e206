import { schemaIssues } from '../schema/validate.js'
import { checkPart, checkPolicy } from './invariants.js'
import type { PolicyIssue } from './issues.js'
import type { Part } from './parts.js'
import type { ProxyPolicy } from './policy.js'
import { partSchemas, policyUpdateSchema, proxyPolicySchema } from './schema.js'

/** What keeps a value from being a part: its schema first, and what {@link checkPart} finds once that holds. */
export function validatePart(value: unknown): readonly PolicyIssue[] {
  if (typeof value !== 'object' || value === null) return [{ pointer: '', message: 'expected an object' }]
  const kind: unknown = 'kind' in value ? value.kind : undefined
  if (typeof kind !== 'string' || !isPartKind(kind)) {
    return [{ pointer: '/kind', message: `expected one of ${Object.keys(partSchemas).join(', ')}` }]
  }
  const issues = schemaIssues(partSchemas[kind], value)
  // Without an issue the value is what its schema describes.
  return issues.length > 0 ? issues : checkPart(value as Part)
}

/** What keeps a value from being a whole document: its schema first, and what {@link checkPolicy} finds once that holds. */
export function validatePolicy(value: unknown): readonly PolicyIssue[] {
  const issues = schemaIssues(proxyPolicySchema, value)
  return issues.length > 0 ? issues : checkPolicy(value as ProxyPolicy)
}

/** What keeps a value from being a step of a policy stream. */
export function validatePolicyUpdate(value: unknown): readonly PolicyIssue[] {
  return schemaIssues(policyUpdateSchema, value)
}

function isPartKind(kind: string): kind is keyof typeof partSchemas {
  return Object.hasOwn(partSchemas, kind)
}
