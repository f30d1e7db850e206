import { isPassedThrough } from '../../../endpoints/index.js'
import { deepEqual, defineQuery } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { objectInputs } from '../../inputs/inputs.js'
import { nameKey, type NamespacedName } from '../parts/keys.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { serviceModel, usableAccounts } from './services.js'

/** What of a ServiceImport leads nowhere. */
export const importProblems = defineQuery<CatalogState, NamespacedName, readonly PolicyProblem[]>({
  name: 'import-problems',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, name) => {
    const imported = context.get(objectInputs.ServiceImport, name)
    if (imported === undefined) return []
    const problems = new ProblemList(objectRefOf('ServiceImport', name))
    const warn = (field: string, message: string): void => problems.warning('OSM_POLICY_IMPORT', field, message)
    const service = context.get(serviceModel, name)
    if (service === undefined) {
      warn(
        'metadata.name',
        `there is no Service ${nameKey(name)} to call it by; make one, without a selector if need be`,
      )
      return problems.items
    }
    if (context.get(usableAccounts, name).length === 0)
      warn(
        'spec.serviceAccountName',
        'has no account, and the Service has none: no identity can be expected of its endpoints',
      )
    for (const [index, { port, endpoints }] of imported.spec.ports.entries()) {
      const field = `spec.ports[${index}]`
      if (!service.ports.some((own) => own.port === port)) warn(`${field}.port`, `the Service has no port ${port}`)
      for (const [at, { target }] of endpoints.entries())
        if (!isPassedThrough(target))
          warn(
            `${field}.endpoints[${at}].target.path`,
            'is left out: a gateway that asks for a path has to read requests, and connections between sidecars are closed to it; have it pass them on by server name, and leave the path empty',
          )
    }
    return problems.items
  },
})

/** Of a ServiceExport all: gateways are no one's here. */
export function exportProblems(name: NamespacedName): readonly PolicyProblem[] {
  const problems = new ProblemList(objectRefOf('ServiceExport', name))
  const message =
    'has no effect: gateways between clusters are not configured here; have yours pass connections on by server name'
  problems.warning('OSM_POLICY_EXPORT', 'spec', message)
  return problems.items
}
