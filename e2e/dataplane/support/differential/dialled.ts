import type { EgressQuestion, Oracle } from '@osm-ts/oracle'

import type { InsideAnswer, Question } from '../inside.js'

/**
 * What the oracle says of what a workload dials where its traffic is intercepted. Whatever its bytes mean, a connection to an address that is open leaves;
 * else what they say counts.
 */
export function verdictOnDialled(oracle: Oracle, from: EgressQuestion['from'], question: Question): 'allow' | 'deny' {
  const { dial, port } = question
  const asConnection = oracle.decideEgress({ protocol: 'tcp', from, host: dial, port }).outcome
  if (asConnection === 'allow' || question.kind === 'tcp') return asConnection
  const { kind, host, method = 'GET', path = '/' } = question
  if (kind === 'https') return oracle.decideEgress({ protocol: 'https', from, host, port }).outcome
  const request = { method, target: path, headers: { host } }
  return oracle.decideEgress({ protocol: 'http', from, host, port, request }).outcome
}

/** What became of it. An answer of the sidecar is none of the outside. */
export function outcomeOf({ status, line }: InsideAnswer): 'allow' | 'deny' {
  return status === 200 || line !== undefined ? 'allow' : 'deny'
}
