import { describe, expect, it } from '@jest/globals'
import { level0, runCheck } from '@osm-ts/driver-testkit'

import { standIn } from '../test/stand-in.js'
import { createPipyDriver } from './driver.js'

describe('the Pipy driver, by level 0 of the conformance suite', () => {
  const subject = { driver: createPipyDriver(), config: {}, standIn }

  it.each(level0)('$id: $proves', async (check) => {
    const result = await runCheck(check, subject, { signal: new AbortController().signal })
    // A session of Pipy has all certificates of its polls, so none of them is the one whose key a chain would be for.
    const outcome = check.id === 'policy.proxy-key' ? 'not claimed' : 'passed'
    // With the reason, where there is one.
    expect(result).toMatchObject({ outcome, ...('reason' in result && { reason: undefined }) })
  })
})
