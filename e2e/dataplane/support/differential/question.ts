import { Oracle, type Question, type Verdict } from '@osm-ts/oracle'

import { meshConfig, ref } from '../yaml.js'
import type { AskedRequest } from './policy-can.js'
import type { Attempt, Policy } from './random-policy.js'
import { HTTP_PORT, TCP_PORT, parsed, topology } from './topology.js'

/** The oracle for a policy. */
export function oracleOf(policy: Policy): Oracle {
  return new Oracle(parsed(documentsOf(policy)))
}

/** Everything that a mesh under a policy is told. */
export function documentsOf(policy: Policy): readonly string[] {
  return [...topology, configOf(policy), ...policy.documents]
}

/** The configuration of a policy. */
export function configOf({ permissive, plaintext, keepsEscapedSlashes }: Omit<Policy, 'documents'>): string {
  return meshConfig({
    traffic: {
      enablePermissiveTrafficPolicyMode: permissive,
      enableEgress: false,
      escapedSlashes: keepsEscapedSlashes ? 'Keep' : 'Reject',
      ...(permissive ? { plaintextNamespaces: plaintext } : {}),
    },
    featureFlags: { enableEgressPolicy: true, enableIngressBackendPolicy: true, enableRetryPolicy: true },
  })
}

/** An attempt as the command line of `osm policy can` has it. */
export function asked(attempt: Attempt): AskedRequest {
  const { port, request, serverName } = question(attempt)
  const to = `${attempt.to}:${port}`
  if (attempt.kind === 'tcp' || request === undefined)
    return { from: attempt.from, to, ...(serverName === undefined ? {} : { serverName }) }
  const { method, headers } = request
  return { from: attempt.from, to, method, target: attempt.request.target, headers }
}

/** What the oracle says of an attempt. */
export function verdictOn(oracle: Oracle, attempt: Attempt): Verdict {
  return oracle.decide(question(attempt))
}

/** An attempt as a question. Header fields that repeat are one value, and the spaces around values are not part of them. */
function question(attempt: Attempt): Question {
  const base = { from: ref(attempt.from), to: ref(attempt.to) }
  if (attempt.kind === 'tcp') {
    const { serverName = '' } = attempt
    return { ...base, port: TCP_PORT, ...(serverName === '' ? {} : { serverName }) }
  }
  const { method, target, headers } = attempt.request
  const values = new Map<string, string>()
  for (const [name, value] of headers) {
    const key = name.toLowerCase()
    values.set(key, values.has(key) ? `${values.get(key) ?? ''},${value.trim()}` : value.trim())
  }
  return { ...base, port: HTTP_PORT, request: { method, target, headers: Object.fromEntries(values) } }
}
