import { describe, expect, it } from '@jest/globals'
import { optionalFeatures, validateCapabilities } from '@osm-ts/driver-api'

import { capabilities, unsupportedFeatures } from './capabilities.js'

describe('capabilities', () => {
  it('fit the contract', () => {
    expect(validateCapabilities(capabilities)).toEqual([])
  })

  it('leave out features of the contract only, and each with a reason', () => {
    const unsupported = Object.keys(unsupportedFeatures)
    expect(optionalFeatures).toEqual(expect.arrayContaining(unsupported))
    expect([...capabilities.features, ...unsupported].sort()).toEqual([...optionalFeatures].sort())
    for (const reason of Object.values(unsupportedFeatures)) expect(reason).toMatch(/^\w.{20,}/)
  })
})
