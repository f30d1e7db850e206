import { printable } from '@osm-ts/driver-api/toolkit'
import type { ResourceCondition, ResourceStatus } from '@osm-ts/endpoints-api'

import { isPlainObject } from '../../spec/shape.js'

const MAX_CONDITIONS = 8
const MAX_TEXT = 1_024
const MAX_ADDRESSES = 16
/** Conditions that the host sets. */
const OWN = ['Accepted', 'Stale']

/** The status that a provider reported, as far as it has the form of one; undefined otherwise. */
export function checkedStatus(value: unknown): ResourceStatus | undefined {
  if (!isPlainObject(value) || !Array.isArray(value.conditions)) return undefined
  const { observedGeneration, instances, addresses, resolvedAt, stale } = value
  if (!isCount(observedGeneration) || !isCount(instances)) return undefined
  const conditions = value.conditions.slice(0, MAX_CONDITIONS).flatMap(checkedCondition)
  return {
    observedGeneration,
    instances,
    conditions: conditions.filter(({ type }, index) => conditions.findIndex((it) => it.type === type) === index),
    ...(Array.isArray(addresses) && {
      addresses: addresses
        .filter((it) => typeof it === 'string' && it.length <= 45)
        .slice(0, MAX_ADDRESSES) as string[],
    }),
    ...(isCount(resolvedAt) && { resolvedAt }),
    ...(typeof stale === 'boolean' && { stale }),
  }
}

function checkedCondition(value: unknown): readonly ResourceCondition[] {
  if (!isPlainObject(value)) return []
  const { type, status, reason, message } = value
  if (!isWord(type) || OWN.includes(type) || !isWord(reason) || typeof message !== 'string') return []
  if (status !== 'True' && status !== 'False' && status !== 'Unknown') return []
  return [{ type, status, reason, message: printable(message.slice(0, MAX_TEXT)) }]
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z]\w{0,62}$/.test(value)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
