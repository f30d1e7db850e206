import type { EndpointsAnnouncement } from '../../endpoints/index.js'
import { proxyKeyOfInstance } from '../../identity/index.js'
import type { Snapshot } from '../../snapshot/index.js'
import type { Edit } from '../../snapshot/sorted-index.js'
import { isOfKind, type MeshObject } from '../../spec/index.js'
import { touched, type Touched } from '../incremental/index.js'
import { parseNameKey, type NamespacedName } from '../policy/parts/keys.js'
import type { CatalogState } from './catalog-state.js'
import {
  accountsOfService,
  endpointsOfService,
  gatewaysInNamespace,
  grantsInNamespace,
  expectsSidecars,
  indexInputs,
  instanceOfProxy,
  instancesByUuid,
  knowsEndpoints,
  nameInputs,
  objectInputs,
  secretState,
  serviceNamespaces,
  servicesInNamespace,
  servicesOfAccount,
  servicesOfInstance,
  settingInputs,
  targetPortsOfService,
  telemetriesInNamespace,
  trustRoots,
  type NameInputKind,
  type ObjectInputKind,
} from './inputs.js'
import { indexNames, keysIn } from './policy-indexes.js'

type TouchedInput = Touched<CatalogState>

/** A state, and how it came out of the one before. */
export interface StateChange {
  readonly before: CatalogState
  readonly after: CatalogState
  readonly edits: readonly Edit<MeshObject>[]
  /** What the endpoints provider announced since. */
  readonly endpoints: EndpointsAnnouncement
}

/**
 * Every input whose value may differ between two states, perhaps some more. The engine compares values, so naming too many costs a comparison;
 * naming too few would leave policies stale.
 */
export function* touchedInputs({ before, after, edits, endpoints }: StateChange): Generator<TouchedInput> {
  for (const edit of edits) yield* touchedByEdit(edit, before.snapshot, after.snapshot)
  for (const service of endpoints.services) {
    yield touched(endpointsOfService, service)
    yield touched(targetPortsOfService, service)
    yield touched(knowsEndpoints, service)
    yield touched(accountsOfService, service)
    yield touched(expectsSidecars, service)
  }
  for (const account of endpoints.accounts) yield touched(servicesOfAccount, account)
  if (before.settings !== after.settings) for (const input of Object.values(settingInputs)) yield touched(input, '')
  if (before.roots !== after.roots) yield touched(trustRoots, '')
  if (before.secrets !== after.secrets)
    for (const key of new Set([...(before.secrets?.keys() ?? []), ...(after.secrets?.keys() ?? [])]))
      yield touched(secretState, parseNameKey(key))
}

function* touchedByEdit(edit: Edit<MeshObject>, before: Snapshot, after: Snapshot): Generator<TouchedInput> {
  const versions = [edit.before, edit.after].filter((version) => version !== undefined)
  const [object] = versions
  if (object === undefined) return
  yield* touchedByName(object, versions.length === 1)
  for (const version of versions)
    for (const index of indexNames) for (const key of keysIn(index, version)) yield touched(indexInputs[index], key)
  if (edit.before !== undefined) yield* touchedInstances(edit.before, before)
  if (edit.after !== undefined) yield* touchedInstances(edit.after, after)
}

function* touchedByName({ kind, metadata }: MeshObject, cameOrWent: boolean): Generator<TouchedInput> {
  const name: NamespacedName = { namespace: metadata.namespace, name: metadata.name }
  if (isReadByName(kind)) yield touched(objectInputs[kind], name)
  if (kind === 'ReferenceGrant' || kind === 'GatewayReferenceGrant')
    yield touched(grantsInNamespace[kind], name.namespace)
  if (!cameOrWent) return
  if (kind === 'EgressGateway') yield touched(gatewaysInNamespace, name.namespace)
  if (kind === 'Telemetry') yield touched(telemetriesInNamespace, name.namespace)
  if (isListed(kind)) yield touched(nameInputs[kind], '')
  if (kind !== 'Service') return
  yield touched(servicesInNamespace, name.namespace)
  yield touched(serviceNamespaces, '')
}

/** Instances whose services may be others now: the edited instance, or those that the edited service selects in the snapshot of this version. */
function* touchedInstances(version: MeshObject, snapshot: Snapshot): Generator<TouchedInput> {
  const { namespace, name } = version.metadata
  if (isOfKind(version, 'WorkloadInstance')) {
    yield touched(servicesOfInstance, { namespace, name })
    yield touched(instanceOfProxy, proxyKeyOfInstance(version))
    yield touched(instancesByUuid, version.spec.uuid)
  }
  if (isOfKind(version, 'Service'))
    for (const { metadata } of snapshot.instancesOf(version))
      yield touched(servicesOfInstance, { namespace, name: metadata.name })
}

function isReadByName(kind: string): kind is ObjectInputKind {
  return Object.hasOwn(objectInputs, kind)
}

function isListed(kind: string): kind is NameInputKind {
  return Object.hasOwn(nameInputs, kind)
}
