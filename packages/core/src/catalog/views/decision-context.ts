import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import type { MeshDomains } from '../../identity/index.js'
import { isMonitored, type Enrolment } from '../../spec/index.js'
import type { Locate } from '../catalog-types.js'
import type { DecisionContext } from '../decision/access-decision.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import type { PolicyComputation } from '../policy-computation.js'
import { canHoldCertificate } from '../policy/access/accounts.js'
import { nameKey } from '../policy/parts/keys.js'
import { allowsPlaintext } from '../policy/access/plaintext.js'
import { serviceModel } from '../policy/upstreams/services.js'

/** What is fixed for all decisions of a mesh. */
export interface DecisionOptions {
  readonly domains: MeshDomains
  readonly enrolment: Enrolment
  readonly locate?: Locate
}

/** What decisions are made with, as the mesh is now. */
export function decisionContext(
  computation: PolicyComputation,
  { domains, enrolment, locate }: DecisionOptions,
): DecisionContext {
  const { state, snapshot } = computation
  return {
    computation,
    snapshot,
    trustDomain: domains.trustDomain,
    accountsOf: (service) => state?.endpoints.listIdentitiesForService(service).items ?? [],
    withoutSidecar: (service) => (state === undefined ? [] : accountsWithoutSidecar(state, service)),
    allowsPlaintext: (namespace) => computation.read(allowsPlaintext, namespace) ?? false,
    escapedSlashes: state?.settings.mesh.keepsEscapedSlashes === true ? 'Keep' : 'Reject',
    isServed: (service) => computation.read(serviceModel, service) !== undefined,
    isMember: (namespace) => isMonitored(snapshot, namespace, enrolment),
    isUsable: (account) => canHoldCertificate(account, domains),
    locate: (key, field) => locate?.(key, field),
  }
}

/** Accounts behind a service whose known workloads all lack a sidecar. What does not run yet counts by what it asks for. */
function accountsWithoutSidecar(
  { endpoints, snapshot }: CatalogState,
  service: MeshService,
): readonly ServiceAccountRef[] {
  const object = snapshot.get('Service', service.namespace, service.name)
  if (object === undefined) return []
  const found = new Map<string, { readonly account: ServiceAccountRef; readonly withSidecar: boolean }>()
  const note = (account: ServiceAccountRef, withSidecar: boolean): void => {
    const key = nameKey(account)
    found.set(key, { account, withSidecar: withSidecar || found.get(key)?.withSidecar === true })
  }
  for (const { account, sidecar, cluster } of endpoints.listEndpointsForService(service).items)
    if (account !== undefined) note(account, sidecar !== undefined || cluster !== '')
  for (const { metadata, spec } of snapshot.workloadsOf(object))
    note({ namespace: metadata.namespace, name: spec.serviceAccountName }, spec.sidecar)
  for (const { metadata, spec } of snapshot.instancesOf(object))
    note({ namespace: metadata.namespace, name: spec.serviceAccountName }, true)
  return [...found.values()].flatMap(({ account, withSidecar }) => (withSidecar ? [] : [account]))
}
