import type { ServiceAccountRef } from '@osm-ts/driver-api'

import { isDnsLabel, isDnsSubdomain, readsAsServerName, type MeshDomains } from '../../../identity/index.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { settingInputs } from '../../inputs/inputs.js'

/** False for names that no service account can have. */
export function isAccountName({ namespace, name }: ServiceAccountRef): boolean {
  return isDnsSubdomain(name) && isDnsLabel(namespace)
}

/** False for accounts whose name is none, and for those whose identity reads like the name of a service, for which another could pass. */
export function canHoldCertificate(account: ServiceAccountRef, domains: MeshDomains): boolean {
  return isAccountName(account) && !readsAsServerName(account, domains)
}

/** {@link canHoldCertificate} with the domains of the mesh. */
export function isUsableAccount(context: QueryContext<CatalogState>, account: ServiceAccountRef): boolean {
  return canHoldCertificate(account, context.get(settingInputs.domains, ''))
}
