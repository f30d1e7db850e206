import { describe, expect, it } from '@jest/globals'

import { nextStatus, saysAll, type WantedStatus } from './condition.js'

const wanted: WantedStatus = {
  generation: 3,
  findings: [
    { type: 'Programmed', status: 'False', reason: 'Refused', message: 'shop/store-0 says: \u001B[2J\u009Bx\u202Ey\n' },
  ],
  currentStatus: 'error',
  reason: 'spec.hosts[0]: "\u202E" is not a host name',
}

describe('the status of an object', () => {
  it('holds no character of a user or sidecar that would steer the terminal of a reader', () => {
    const status = nextStatus(wanted, undefined, 0)
    expect(status).toMatchObject({
      conditions: [{ message: 'shop/store-0 says: ·[2J·x·y·' }],
      reason: 'spec.hosts[0]: "·" is not a host name',
    })
  })

  it('is not written again for such a character', () => {
    const status = nextStatus(wanted, undefined, 0)
    expect(saysAll(status, wanted)).toBe(true)
    expect(saysAll(status, { ...wanted, reason: 'another' })).toBe(false)
  })
})
