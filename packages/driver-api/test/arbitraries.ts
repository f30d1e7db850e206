/**
 * Arbitrary parts: every value fits its schema and everything `checkPart` asks for. They do not belong together; see `policy-arbitraries.ts` for whole
 * documents. Kept out of `src`, so that driver authors do not depend on fast-check.
 */
import fc from 'fast-check'

import type { PartKind, PartOf } from '../src/policy/index.js'
import { proxyPart, trustPart, meshPart, principalsPart } from './arbitraries/own-parts.js'
import { inboundPart, ingressPart } from './arbitraries/served-parts.js'
import { outboundPart, upstreamPart, endpointsPart } from './arbitraries/called-parts.js'
import { clientRulesPart, egressPart, dnsPart, extensionPart, setPart } from './arbitraries/client-parts.js'

export * from './arbitraries/rules.js'
export * from './arbitraries/values.js'

/** An arbitrary for each kind of part. */
export const partArbitraries: { readonly [K in PartKind]: fc.Arbitrary<PartOf<K>> } = {
  proxy: proxyPart,
  trust: trustPart,
  mesh: meshPart,
  principals: principalsPart,
  inbound: inboundPart,
  ingress: ingressPart,
  outbound: outboundPart,
  upstream: upstreamPart,
  endpoints: endpointsPart,
  clientRules: clientRulesPart,
  egress: egressPart,
  dns: dnsPart,
  extension: extensionPart,
  set: setPart,
}

/** Any part. */
export const anyPart = fc.oneof(...Object.values(partArbitraries))
