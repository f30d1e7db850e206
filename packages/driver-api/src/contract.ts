import { OsmError } from './errors.js'

/**
 * A range of contract versions, both ends included.
 *
 * A driver declares the versions that it supports, and a host picks the newest one that both support. A driver that supports one version writes it
 * twice: `{ min: 1, max: 1 }`. Write numbers, not a constant of this package: the numbers say which contract the code was written for.
 */
export interface ContractRange {
  /** Oldest version, 1 or greater. */
  readonly min: number
  /** Newest version, not less than {@link min}. */
  readonly max: number
}

/** Versions that the host of this package supports. */
export const hostContracts: ContractRange = { min: 1, max: 1 }

/** True for a range of positive 32-bit integers whose ends are in order. */
export function isContractRange(value: unknown): value is ContractRange {
  if (typeof value !== 'object' || value === null) return false
  // Members of an object of unknown type are unknown.
  const { min, max } = value as Readonly<Record<string, unknown>>
  return isVersion(min) && isVersion(max) && min <= max
}

/**
 * Returns the newest version that driver and host support, or undefined if there is none.
 *
 * @example
 * negotiateContract({ min: 1, max: 3 }, { min: 2, max: 2 }) // 2
 */
export function negotiateContract(driver: ContractRange, host: ContractRange = hostContracts): number | undefined {
  const newest = Math.min(driver.max, host.max)
  return newest >= Math.max(driver.min, host.min) ? newest : undefined
}

/**
 * Returns the newest version that driver and host support.
 *
 * @throws OsmError with code `OSM_DRIVER_CONTRACT`, naming both ranges
 */
export function requireContract(
  { name, contract }: { readonly name: string; readonly contract: ContractRange },
  host: ContractRange = hostContracts,
): number {
  const version = negotiateContract(contract, host)
  if (version !== undefined) return version
  const advice = contract.min > host.max ? 'upgrade the control plane' : 'upgrade the driver'
  throw new OsmError(
    'OSM_DRIVER_CONTRACT',
    `driver ${name} supports contract ${describeContracts(contract)}, this host ${describeContracts(host)}; ${advice}`,
    {
      details: { driver: name, driverMin: contract.min, driverMax: contract.max, hostMin: host.min, hostMax: host.max },
    },
  )
}

/** Returns a range in words: `version 1`, or `versions 1 to 2`. */
export function describeContracts({ min, max }: ContractRange): string {
  return min === max ? `version ${min}` : `versions ${min} to ${max}`
}

function isVersion(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 4_294_967_295
}
