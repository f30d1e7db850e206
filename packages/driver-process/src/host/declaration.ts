import { checkDriver, type Driver, OsmError } from '@osm-ts/driver-api'
import { capabilitiesForHost, isContractRange, requireContract } from '@osm-ts/driver-api/host'

import { processError } from '../wire/failure.js'
import type { DeclarationMessage } from '../wire/services.js'
import { parseDocument } from './parse-document.js'

/** What a driver is, without what it does. */
export type DeclaredDriver = Pick<
  Driver,
  'name' | 'contract' | 'capabilities' | 'configSchema' | 'oldestProxyVersion'
> & {
  /** For people; may be empty. */
  readonly version: string
}

/**
 * Looks at what a driver says of itself.
 *
 * @param expected - sidecar class that it is listed under; empty: any
 * @throws OsmError with code `OSM_DRIVER_INVALID`, `OSM_DRIVER_CONTRACT`, `OSM_DRIVER_NAME` or `OSM_DRIVER_PROTOCOL`
 */
export function readDeclaration(message: DeclarationMessage, expected: string): DeclaredDriver {
  const { name, version, oldestProxyVersion } = message
  const contract = { min: message.contractMin, max: message.contractMax }
  // A newer contract may have other capabilities, so the version is checked first.
  if (isContractRange(contract)) requireContract({ name, contract })
  const capabilities = parseDocument(message.capabilities)
  const declared = {
    name,
    contract,
    capabilities: isContractRange(contract) ? capabilitiesForHost({ contract, capabilities }) : capabilities,
    configSchema: parseDocument(message.configSchema),
    ...(oldestProxyVersion === '' ? {} : { oldestProxyVersion }),
  }
  const reasons = checkDriver({ ...declared, patch: () => undefined, start: () => undefined }).map(
    ({ pointer, message: what }) => `${pointer} ${what}`,
  )
  if (reasons.length > 0)
    throw new OsmError('OSM_DRIVER_INVALID', `driver ${name} does not fit the contract: ${reasons.join('; ')}`, {
      details: { driver: name, reasons },
    })
  if (expected !== '' && expected.toLowerCase() !== name.toLowerCase())
    throw processError('OSM_DRIVER_NAME', `the driver is of class ${name}, but listed as ${expected}`, {
      driver: name,
      expected,
    })
  return { ...(declared as Omit<DeclaredDriver, 'version'>), version } // checkDriver had nothing to say
}
