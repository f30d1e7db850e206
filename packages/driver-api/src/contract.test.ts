import { describe, expect, it } from '@jest/globals'

import { describeContracts, hostContracts, isContractRange, negotiateContract, requireContract } from './contract.js'

describe('contract versions', () => {
  it.each([
    [{ min: 1, max: 1 }, { min: 1, max: 1 }, 1],
    [{ min: 1, max: 2 }, { min: 1, max: 1 }, 1],
    [{ min: 1, max: 2 }, { min: 1, max: 3 }, 2],
    [{ min: 2, max: 5 }, { min: 1, max: 3 }, 3],
    [{ min: 2, max: 2 }, { min: 1, max: 1 }, undefined],
    [{ min: 1, max: 1 }, { min: 2, max: 3 }, undefined],
  ])('of driver %p and host %p have %p as the newest common one', (driver, host, expected) => {
    expect(negotiateContract(driver, host)).toBe(expected)
  })

  it('of the host form a range', () => {
    expect(isContractRange(hostContracts)).toBe(true)
  })

  it.each([
    ['a number', 1],
    ['null', null],
    ['an end only', { max: 1 }],
    ['ends in the wrong order', { min: 2, max: 1 }],
    ['version 0', { min: 0, max: 1 }],
    ['a fraction', { min: 1, max: 1.5 }],
    ['text', { min: '1', max: '1' }],
    ['a number that does not fit the wire', { min: 1, max: 4_294_967_296 }],
  ])('cannot be declared as %s', (_what, value) => {
    expect(isContractRange(value)).toBe(false)
  })

  it('are both named when driver and host have none in common, with what to upgrade', () => {
    const refusal = (driver: { min: number; max: number }) => () =>
      requireContract({ name: 'acme', contract: driver }, { min: 2, max: 3 })
    expect(refusal({ min: 4, max: 6 })).toThrow(
      'driver acme supports contract versions 4 to 6, this host versions 2 to 3; upgrade the control plane',
    )
    expect(refusal({ min: 1, max: 1 })).toThrow(
      expect.objectContaining({
        code: 'OSM_DRIVER_CONTRACT',
        message: 'driver acme supports contract version 1, this host versions 2 to 3; upgrade the driver',
        details: { driver: 'acme', driverMin: 1, driverMax: 1, hostMin: 2, hostMax: 3 },
      }),
    )
    expect(describeContracts({ min: 1, max: 1 })).toBe('version 1')
  })
})
