import type { Check } from './check.js'
import { contractChecks } from './contract-checks.js'
import { patchChecks } from './patch-checks.js'
import { peerChecks } from './peer-checks.js'
import { policyChecks } from './policy-checks.js'
import { startChecks } from './start-checks.js'
import { userTextChecks } from './user-text-checks.js'

/**
 * Level 0 of the conformance suite: the contract itself, against a simulated host. No proxy is needed; the configuration of proxies is tested with a {@link StandIn}, if there
 * is one.
 */
export const level0: readonly Check[] = [
  ...contractChecks,
  ...patchChecks,
  ...userTextChecks,
  ...startChecks,
  ...peerChecks,
  ...policyChecks,
]
