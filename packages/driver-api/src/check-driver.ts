import type { Capabilities } from './capabilities.js'
import { capabilitiesForHost } from './capabilities-for-host.js'
import { type ContractRange, hostContracts, isContractRange } from './contract.js'
import { isDriverName } from './driver-name.js'
import { IssueList, type PolicyIssue } from './policy/issues.js'
import { capabilitiesSchema } from './schema/driver.js'
import { schemaIssues } from './schema/validate.js'

/**
 * Returns the reasons why a value is not a valid driver. Reads only: neither `patch` nor `start` is called. The contract version is checked by
 */
export function checkDriver(value: unknown, host: ContractRange = hostContracts): readonly PolicyIssue[] {
  const issues = new IssueList()
  if (typeof value !== 'object' || value === null) {
    issues.add('', 'expected a driver object')
    return issues.issues
  }
  // Members of an object of unknown type are unknown.
  const driver = value as Readonly<Record<string, unknown>>
  issues.expect(isDriverName(driver.name), '/name', 'must be a DNS label: letters, digits and inner dashes, at most 63')
  const { contract } = driver
  issues.expect(isContractRange(contract), '/contract', 'must be a range of versions, such as { min: 1, max: 1 }')
  for (const method of ['patch', 'start']) {
    issues.expect(typeof driver[method] === 'function', `/${method}`, 'must be a function')
  }
  const capabilities = isContractRange(contract)
    ? capabilitiesForHost({ contract, capabilities: driver.capabilities }, host)
    : driver.capabilities
  for (const issue of validateCapabilities(capabilities)) {
    issues.add(`/capabilities${issue.pointer}`, issue.message)
  }
  issues.expect(isPlainJson(driver.configSchema), '/configSchema', 'must be a JSON Schema: an object of plain JSON')
  const { oldestProxyVersion: oldest } = driver
  const isVersion = typeof oldest === 'string' && /^\d{1,9}\.\d{1,9}(\.\d{1,9})?$/.test(oldest)
  issues.expect(
    oldest === undefined || oldest === '' || isVersion,
    '/oldestProxyVersion',
    'must be a version such as "1.37", or absent',
  )
  const { followsEndpoints } = driver
  issues.expect(
    followsEndpoints === undefined || followsEndpoints === true,
    '/followsEndpoints',
    'must be true or absent',
  )
  return issues.issues
}

/** Returns the reasons why a value is not valid as {@link Capabilities}: violations of the schema, then duplicates in lists. */
export function validateCapabilities(value: unknown): readonly PolicyIssue[] {
  const found = schemaIssues(capabilitiesSchema, value)
  if (found.length > 0) return found
  // Without an issue the value conforms to its schema.
  const capabilities = value as Capabilities
  const issues = new IssueList()
  for (const [name, list] of Object.entries(capabilities)) {
    if (!Array.isArray(list)) continue
    issues.expect(new Set(list).size === list.length, `/${name}`, 'must hold nothing twice')
  }
  return issues.issues
}

function isPlainJson(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const seen = new Set<object>()
  const isPlain = (member: unknown): boolean => {
    if (typeof member !== 'object' || member === null) {
      return member === null || typeof member === 'string' || typeof member === 'boolean' || Number.isFinite(member)
    }
    if (seen.has(member)) return false
    seen.add(member)
    const plain = Object.values(member).every(isPlain)
    seen.delete(member)
    return plain
  }
  return isPlain(value)
}
