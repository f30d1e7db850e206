import { type Clock, pause } from '@osm-ts/core'
import {
  type CustomResourceDefinition,
  type KubernetesApi,
  type KubernetesObject,
  nameLabel,
  resourceTypes,
} from '@osm-ts/kubernetes'
import { OsmError } from '@osm-ts/driver-api'

import type { BootstrapErrorCode } from '../error-codes.js'
import { fingerprint } from '../reconcile/kept-object.js'
import { RECONCILE_LABEL } from '../mesh-identity.js'
import { writeObject } from '../write-object.js'
import { isForeign, mergeDefinition } from './merge-definition.js'
import { asDefinition } from './stored-definition.js'

const type = resourceTypes.CustomResourceDefinition

/**
 * Brings a definition in and gives it as the API server holds it. One of another tool is given back as it is.
 *
 * @throws KubernetesError, or OsmError with a code of `OSM_BOOTSTRAP_*`
 */
export async function applyDefinition(
  api: KubernetesApi,
  ours: CustomResourceDefinition,
  reconcile: boolean,
  signal: AbortSignal,
): Promise<KubernetesObject> {
  const stored = await writeObject(
    api,
    {
      type,
      name: { namespace: '', name: ours.metadata.name },
      wanted: (live) => (live !== undefined && isForeign(live) ? undefined : mergeDefinition(ours, live, reconcile)),
    },
    signal,
  )
  if (stored === undefined) throw new TypeError('a definition that is wanted was not written')
  return stored
}

/** What of a definition the reconciler keeps as it was written. */
export function definitionFingerprint(object: KubernetesObject): string {
  const { [nameLabel]: name, [RECONCILE_LABEL]: reconcile } = object.metadata.labels ?? {}
  const deleting = object.metadata.deletionTimestamp !== undefined
  return fingerprint({ name, reconcile, deleting, spec: asDefinition(object).spec })
}

const POLL_MS = 100
const TIMEOUT_MS = 30_000

/**
 * Resolves when the API server serves the kind.
 *
 * @throws OsmError with code `OSM_BOOTSTRAP_CRD_NAMES` or `OSM_BOOTSTRAP_CRD_PENDING`
 */
export async function untilEstablished(
  api: KubernetesApi,
  name: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const end = clock.now() + TIMEOUT_MS
  for (;;) {
    signal.throwIfAborted()
    const live = await api.get(type, { namespace: '', name }, signal)
    const conditions = live === undefined ? [] : (asDefinition(live).status?.conditions ?? [])
    // Served under the names that it had, though one of the new ones may be taken.
    if (conditions.some(({ type: what, status }) => what === 'Established' && status === 'True')) return
    const refused = conditions.find(({ type: what, status }) => what === 'NamesAccepted' && status === 'False')
    if (refused !== undefined) {
      throw new OsmError<BootstrapErrorCode>(
        'OSM_BOOTSTRAP_CRD_NAMES',
        `CustomResourceDefinition ${name} is not served: ${refused.message ?? 'one of its names is taken'}; remove the definition that has the name`,
      )
    }
    if (clock.now() >= end) {
      throw new OsmError<BootstrapErrorCode>(
        'OSM_BOOTSTRAP_CRD_PENDING',
        `CustomResourceDefinition ${name} is not served ${TIMEOUT_MS / 1000} s after it was applied`,
      )
    }
    await pause(clock, POLL_MS, signal)
  }
}
