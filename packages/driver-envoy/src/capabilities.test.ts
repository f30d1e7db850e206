import { describe, expect, it } from '@jest/globals'
import { optionalFeatures, validateCapabilities } from '@osm-ts/driver-api'

import { capabilities } from './capabilities.js'

describe('capabilities', () => {
  it('fit the contract', () => {
    expect(validateCapabilities(capabilities)).toEqual([])
  })

  it('are sorted features of the contract', () => {
    expect(capabilities.features).toEqual([...capabilities.features].sort())
    expect(optionalFeatures).toEqual(expect.arrayContaining([...capabilities.features]))
  })
})
