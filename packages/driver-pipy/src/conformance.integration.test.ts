import { describe, expect, it } from '@jest/globals'
import { level0, runCheck } from '@osm-ts/driver-testkit'

import { standIn } from '../test/stand-in.js'
import { createPipyDriver } from './driver.js'

describe('the Pipy driver, by level 0 of the conformance suite', () => {
  const subject = { driver: createPipyDriver(), config: {}, standIn }

  it.each(level0)('$id: $proves', async (check) => {
    const result = await runCheck(check, subject, { signal: new AbortController().signal })
    // With the reason, where there is one.
    expect(result).toMatchObject({ outcome: 'passed', ...('reason' in result && { reason: undefined }) })
  })
})
