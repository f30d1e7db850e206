import { type KindMap, machineLabelsAnnotation, parseMachineLabels, type Snapshot } from '@osm-ts/core'
import type { ServiceAccountRef } from '@osm-ts/driver-api'

import { machineRefusals } from './machine.js'

/**
 * Machines of a namespace that admit others no more, and tokens of its accounts that are recorded. Any user who may request tokens of an account, or annotate it,
 * admits machines by themselves, and must leave room for other namespaces.
 */
export const MAX_BY_ACCOUNTS = 100

/**
 * The account that a machine gets the identity of.
 *
 * @throws OsmError with code `OSM_MACHINE_ACCOUNT`
 */
export function accountOf(
  snapshot: Snapshot | undefined,
  { namespace, name }: ServiceAccountRef,
): KindMap['ServiceAccount'] {
  const account = snapshot?.get('ServiceAccount', namespace, name)
  if (account !== undefined) return account
  throw machineRefusals.account({ namespace, serviceAccount: name }, 'create it, in a namespace of the mesh')
}

/**
 * The labels that an account gives to its machines.
 *
 * @throws OsmError with code `OSM_MACHINE_ACCOUNT`
 */
export function labelsOfAccount({ metadata }: KindMap['ServiceAccount']): Readonly<Record<string, string>> {
  const place = { namespace: metadata.namespace, serviceAccount: metadata.name }
  const text = metadata.annotations[machineLabelsAnnotation]
  if (text === undefined)
    throw machineRefusals.notPermitted(place, machineLabelsAnnotation, 'it has no such annotation')
  const labels = parseMachineLabels(text)
  if (labels !== undefined) return labels
  throw machineRefusals.notPermitted(
    place,
    machineLabelsAnnotation,
    'expected labels separated by commas, such as app=store,tier=back',
  )
}
