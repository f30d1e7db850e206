import { schemaIssues } from '../schema/validate.js'
import { checkPart, checkPolicy } from './invariants.js'
import type { PolicyIssue } from './issues.js'
import type { Part } from './parts.js'
import type { ProxyPolicy } from './policy.js'
import { partSchemas, policyUpdateSchema, proxyPolicySchema } from './schema.js'

/** Returns the reasons why a value is not a valid part: violations of its schema, and if there are none, the issues of {@link checkPart}. */
export function validatePart(value: unknown): readonly PolicyIssue[] {
  if (typeof value !== 'object' || value === null) return [{ pointer: '', message: 'expected an object' }]
  const kind: unknown = 'kind' in value ? value.kind : undefined
  if (typeof kind !== 'string' || !isPartKind(kind)) {
    return [{ pointer: '/kind', message: `expected one of ${Object.keys(partSchemas).join(', ')}` }]
  }
  const issues = schemaIssues(partSchemas[kind], value)
  // Without an issue the value conforms to its schema.
  return issues.length > 0 ? issues : checkPart(value as Part)
}

/** Returns the reasons why a value is not a valid document: violations of its schema, and if there are none, the issues of {@link checkPolicy}. */
export function validatePolicy(value: unknown): readonly PolicyIssue[] {
  const issues = schemaIssues(proxyPolicySchema, value)
  return issues.length > 0 ? issues : checkPolicy(value as ProxyPolicy)
}

/** Returns the reasons why a value is not a valid step of a policy stream. */
export function validatePolicyUpdate(value: unknown): readonly PolicyIssue[] {
  return schemaIssues(policyUpdateSchema, value)
}

function isPartKind(kind: string): kind is keyof typeof partSchemas {
  return Object.hasOwn(partSchemas, kind)
}
