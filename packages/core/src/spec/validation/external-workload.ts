import { isAddress } from '../addresses.js'
import type { KindMap } from '../objects.js'
import {
  doubt,
  fault,
  findings,
  missing,
  pendingFault,
  unknownAccount,
  type CheckContext,
  type Finding,
} from './check.js'

/** ExternalWorkloads that no Service can reach. Which addresses are permitted is the business of the provider. */
export function checkExternalWorkload(
  { metadata, spec }: KindMap['ExternalWorkload'],
  context: CheckContext,
): readonly Finding[] {
  const { namespace, labels } = metadata
  const { service, addresses, ports, serviceAccount } = spec
  const names = ports.map(({ name }) => name)
  return findings(
    unknownAccount(context, namespace, serviceAccount, 'spec.serviceAccount'),
    service !== undefined &&
      context.snapshot.get('Service', namespace, service) === undefined &&
      pendingFault('OSM_SPEC_REFERENCE', 'spec.service', missing(context, 'Service', namespace, service)),
    service === undefined &&
      context.snapshot.servicesSelecting(namespace, labels).length === 0 &&
      doubt(
        'OSM_SPEC_NO_EFFECT',
        'spec',
        `names no service, and no Service of namespace ${namespace} selects its labels; it is not an endpoint of any Service`,
      ),
    addresses.flatMap((address, index) =>
      isAddress(address)
        ? []
        : fault('OSM_SPEC_ADDRESS', `spec.addresses[${index}]`, `${JSON.stringify(address)} is not an IP address`),
    ),
    names.flatMap((name, index) =>
      names.indexOf(name) === index
        ? []
        : fault(
            'OSM_SPEC_WORKLOAD',
            `spec.ports[${index}].name`,
            `${JSON.stringify(name)} is already the name of another port; the first one is used`,
          ),
    ),
  )
}
