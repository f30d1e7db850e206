import { describe, expect, it } from '@jest/globals'
import { level0, runCheck } from '@osm-ts/driver-testkit'

import { createPipyDriver } from './driver.js'

describe('the Pipy driver, by level 0 of the conformance suite', () => {
  const subject = { driver: createPipyDriver(), config: {} }

  it.each(level0)('$id: $proves', async (check) => {
    const result = await runCheck(check, subject, { signal: new AbortController().signal })
    expect(result).toMatchObject({ outcome: 'passed' })
  })
})
