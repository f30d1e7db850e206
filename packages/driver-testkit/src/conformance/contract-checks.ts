import { checkDriver, validateCapabilities } from '@osm-ts/driver-api'
import {
  capabilitiesForHost,
  describeContracts,
  hostContracts,
  isContractRange,
  requireContract,
} from '@osm-ts/driver-api/host'
import { canonicalJson, type JsonValue } from '@osm-ts/driver-api/policy'
import { Ajv2020 } from 'ajv/dist/2020.js'

import { type Check, expect, expectNone, reasonOf, Violation } from './check.js'

/** A field that no schema describes. */
const UNKNOWN_FIELD = 'osmConformanceUnknownField'

/** What a driver says of itself. */
export const contractChecks: readonly Check[] = [
  {
    id: 'contract.shape',
    proves: 'the driver has the members of the contract, and a name that is a DNS label',
    prove: async ({ driver }) => {
      const issues = checkDriver(driver).filter(({ pointer }) => !pointer.startsWith('/capabilities'))
      expectNone('it is not a driver', issues)
    },
  },
  {
    id: 'contract.version',
    proves: `the driver supports a contract version of this kit, which has ${describeContracts(hostContracts)}`,
    prove: async ({ driver }) => {
      expect(
        isContractRange(driver.contract),
        `contract is not a range of versions: ${JSON.stringify(driver.contract)}`,
      )
      requireContract(driver)
    },
  },
  {
    id: 'contract.capabilities',
    proves: 'the capabilities are data that the host understands, and the same whenever they are read',
    prove: async ({ driver }) => {
      expectNone('capabilities are malformed', validateCapabilities(capabilitiesForHost(driver)))
      const [first, second] = [canonicalJson(driver.capabilities), canonicalJson(driver.capabilities)]
      expect(first === second, 'capabilities differ from one reading to the next')
    },
  },
  {
    id: 'contract.config-schema',
    proves: 'configSchema is a JSON Schema that takes the configuration of this run and refuses an unknown field',
    prove: async ({ driver, config }) => {
      const accepts = compiled(driver.configSchema)
      expect(
        accepts(config ?? {}),
        `configSchema refuses ${JSON.stringify(config)}; give the kit a configuration that fits`,
      )
      expect(
        !accepts({ ...(config as object | null), [UNKNOWN_FIELD]: 1 }),
        'configSchema takes fields that it does not describe, so that a misspelt one is never noticed: set additionalProperties to false',
      )
    },
  },
]

function compiled(schema: { readonly [key: string]: JsonValue }): (value: unknown) => boolean {
  try {
    return new Ajv2020({ strict: false }).compile(schema)
  } catch (error) {
    throw new Violation(`configSchema is not a JSON Schema of 2020-12: ${reasonOf(error)}`)
  }
}
