import { checkDriver, CONTRACT_VERSION, type Driver, OsmError, speaksContract } from '@osm-ts/driver-api'

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
  const { name, contract, version, oldestProxyVersion } = message
  const declared = {
    name,
    contract,
    capabilities: parseDocument(message.capabilities),
    configSchema: parseDocument(message.configSchema),
    ...(oldestProxyVersion === '' ? {} : { oldestProxyVersion }),
  }
  // A later contract may have other capabilities: the version is the reason to tell then.
  if (!speaksContract(contract))
    throw new OsmError(
      'OSM_DRIVER_CONTRACT',
      `driver ${name} was written for contract version ${contract}; this host speaks version ${CONTRACT_VERSION}`,
      { details: { driver: name, contract, supported: CONTRACT_VERSION } },
    )
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
