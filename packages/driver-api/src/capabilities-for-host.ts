import { Type } from '@sinclair/typebox'

import { type ContractRange, hostContracts } from './contract.js'
import { capabilitiesSchema } from './schema/driver.js'
import { schemaIssues } from './schema/validate.js'

/**
 * Returns the capabilities of a driver as a host reads them. If the driver also supports a newer contract than the host, members and values that this package does not
 * define are left out: they belong to the newer contract. Otherwise they stay, and `validateCapabilities` reports them.
 */
export function capabilitiesForHost(
  { contract, capabilities }: { readonly contract: ContractRange; readonly capabilities: unknown },
  host: ContractRange = hostContracts,
): unknown {
  if (contract.max <= host.max || typeof capabilities !== 'object' || capabilities === null) return capabilities
  const known = new Set(Object.keys(capabilitiesSchema.properties))
  return Object.fromEntries(
    Object.entries(capabilities)
      .filter(([name]) => known.has(name))
      .map(([name, value]: [string, unknown]) => [name, Array.isArray(value) ? knownValues(name, value) : value]),
  )
}

function knownValues(name: string, values: readonly unknown[]): readonly unknown[] {
  const issues = schemaIssues(Type.Partial(capabilitiesSchema), { [name]: values })
  const unknownValues = new Set(issues.map(({ pointer }) => pointer))
  return values.filter((_value, index) => !unknownValues.has(`/${name}/${index}`))
}
