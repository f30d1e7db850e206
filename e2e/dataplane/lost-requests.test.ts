import { describe, it, jest } from '@jest/globals'

import { expectNoneLost } from './support/expect-none-lost.js'

jest.setTimeout(600_000)

describe('requests while policies change', () => {
  it('are all answered, and each is served once', async () => {
    await expectNoneLost('envoy', 200)
  })
})
