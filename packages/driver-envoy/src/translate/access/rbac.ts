import { compareText, type PrincipalsPart, type RouteMatch } from '@osm-ts/driver-api/policy'
import {
  RBAC_Action as Action,
  PolicySchema,
  type PermissionSchema,
  type PrincipalSchema,
  type RBACSchema,
} from '@osm-ts/envoy-api/envoy/config/rbac/v3/rbac_pb.js'

import { encodeOnce } from '../../resources/encode-message.js'
import type { Init } from '../encoding/encode.js'
import { spiffeId, spiffePrefix } from './identity-names.js'
import { headerMatchers, methodMatcher, stringMatcher } from '../routing/matching.js'
import { readingsPermission } from '../routing/path-readings.js'

type RbacInit = Init<typeof RBACSchema>
type PrincipalInit = Init<typeof PrincipalSchema>
type PermissionInit = Init<typeof PermissionSchema>
type PolicyInit = Init<typeof PolicySchema>

/** A rule with the callers that it allows. */
export interface ResolvedRule {
  readonly match: RouteMatch
  /** `anyone`: no certificate is requested. */
  readonly allow: PrincipalsPart | 'anyone'
}

/** How the callers of a list are recognised in certificates. */
export type Recognition =
  /** Identities of the mesh, by their URI. */
  | { readonly kind: 'identity'; readonly trustDomain: string }
  /** Callers from outside, by any name that is in the certificate. */
  | { readonly kind: 'name' }

/**
 * Lets in what one of the rules allows, and nothing if there is none.
 *
 * @param keepsEscapedSlashes - true: a path may have several readings, and a rule must allow all of them
 */
export function allowRules(
  rules: readonly ResolvedRule[],
  recognition: Recognition,
  keepsEscapedSlashes: boolean,
): RbacInit {
  const policies = rules
    .map(({ match, allow }): PolicyInit => ({
      permissions: [permission(match, keepsEscapedSlashes)],
      principals: [...callers(allow, recognition)],
    }))
    // A policy without principals is invalid, and no one is in it anyway.
    .filter(({ principals }) => principals !== undefined && principals.length > 0)
    .map((fields) => {
      const { bytes, message } = encodeOnce(PolicySchema, fields)
      return { policy: message, order: Buffer.from(bytes).toString('latin1') }
    })
    .sort((a, b) => compareText(a.order, b.order))
  // Rules have no names of their own; a number makes each one distinguishable in logs.
  return {
    action: Action.ALLOW,
    policies: Object.fromEntries(policies.map(({ policy }, index) => [`allow-${index}`, policy])),
  }
}

/** Lets nothing in. */
export const denyAll: RbacInit = { action: Action.ALLOW, policies: {} }

/** The conditions of a request as a permission. */
function permission({ path, methods, headers }: RouteMatch, keepsEscapedSlashes: boolean): PermissionInit {
  const rules: PermissionInit[] = []
  if (path !== undefined) {
    const urlPath = { rule: { case: 'path' as const, value: stringMatcher(path) } }
    rules.push({ rule: { case: 'urlPath', value: urlPath } })
    const readings = keepsEscapedSlashes ? readingsPermission(path) : undefined
    if (readings !== undefined) rules.push(readings)
  }
  if (methods !== undefined) rules.push({ rule: { case: 'header', value: methodMatcher(methods) } })
  for (const header of headerMatchers(headers)) rules.push({ rule: { case: 'header', value: header } })
  if (rules.length === 0) return { rule: { case: 'any', value: true } }
  return { rule: { case: 'andRules', value: { rules } } }
}

function callers(part: PrincipalsPart | 'anyone', recognition: Recognition): readonly PrincipalInit[] {
  if (part === 'anyone') return [{ identifier: { case: 'any', value: true } }]
  if (part.match === 'trustDomain') return [authenticated('prefix', spiffePrefix(part.trustDomain))]
  return [...part.principals].sort().map((principal) => {
    const uri = recognition.kind === 'identity' ? spiffeId(principal, recognition.trustDomain) : undefined
    return authenticated('exact', uri ?? principal)
  })
}

/** A URI with `//` in it can be neither a DNS name nor a subject, the two other places that Envoy looks at. */
function authenticated(type: 'exact' | 'prefix', value: string): PrincipalInit {
  return {
    identifier: { case: 'authenticated', value: { principalName: { matchPattern: { case: type, value } } } },
  }
}
