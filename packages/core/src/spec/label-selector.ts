import { ownValue } from '@osm-ts/driver-api/toolkit'

import type { labelSelector, Spec } from './schema/common.js'

/** A Kubernetes label selector. */
type LabelSelector = Spec<ReturnType<typeof labelSelector>>

/** True if all that a selector requests holds for labels; one that requests nothing selects everything. */
export function selectsLabels(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => ownValue(labels, key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = ownValue(labels, key)
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value)
        case 'NotIn':
          return value === undefined || !values.includes(value)
        case 'Exists':
          return value !== undefined
        case 'DoesNotExist':
          return value === undefined
      }
    })
  )
}
