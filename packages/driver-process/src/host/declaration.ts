import { checkDriver, type Driver, OsmError } from '@osm-ts/driver-api'
import { capabilitiesForHost, isContractRange, requireContract } from '@osm-ts/driver-api/host'

import { processError } from '../wire/failure.js'
import type { Message } from '../wire/services.js'

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
export function readDeclaration(message: Message<'declaration'>, expected: string): DeclaredDriver {
  const { name, version, oldestProxyVersion, contract, capabilities: declaredCapabilities } = message
  if (contract === undefined || declaredCapabilities === undefined)
    throw new OsmError(
      'OSM_DRIVER_CONTRACT',
      `driver ${name} declares no ${contract === undefined ? 'range of contract versions' : 'capabilities'}: it was built with another driver.proto; build it with the one of @osm-ts/driver-process`,
      { details: { driver: name } },
    )
  // A newer contract may have other capabilities, so the version is checked first.
  if (isContractRange(contract)) requireContract({ name, contract })
  const declared = {
    name,
    contract,
    capabilities: isContractRange(contract)
      ? capabilitiesForHost({ contract, capabilities: declaredCapabilities })
      : declaredCapabilities,
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

/**
 * A value that a driver sent.
 *
 * @throws OsmError with code `OSM_DRIVER_PROTOCOL`
 */
export function parseDocument(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw processError('OSM_DRIVER_PROTOCOL', `the driver sent no JSON: ${String(cause)}`)
  }
}
