import { Oracle, type Question, type Verdict } from '@osm-ts/oracle'

import { meshConfig } from '../yaml.js'
import type { Attempt } from './random-policy.js'
import { HTTP_PORT, TCP_PORT, parsed, topology } from './topology.js'

/** A policy over the mesh that stays. */
export interface Policy {
  readonly permissive: boolean
  readonly documents: readonly string[]
}

/** The oracle for a policy. */
export function oracleOf({ permissive, documents }: Policy): Oracle {
  const config = meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: permissive } })
  return new Oracle(parsed([...topology, config, ...documents]))
}

/** What the oracle says of an attempt. */
export function verdictOn(oracle: Oracle, attempt: Attempt): Verdict {
  return oracle.decide(question(attempt))
}

/** An attempt as a question. Header fields that repeat are one value, and the spaces around values are no part of them. */
export function question(attempt: Attempt): Question {
  const base = { from: ref(attempt.from), to: ref(attempt.to) }
  if (attempt.kind === 'tcp') return { ...base, port: TCP_PORT }
  const { method, target, headers } = attempt.request
  const values = new Map<string, string>()
  for (const [name, value] of headers) {
    const key = name.toLowerCase()
    values.set(key, values.has(key) ? `${values.get(key) ?? ''},${value.trim()}` : value.trim())
  }
  return { ...base, port: HTTP_PORT, request: { method, target, headers: Object.fromEntries(values) } }
}

function ref(text: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = text.split('/')
  return { namespace, name }
}
