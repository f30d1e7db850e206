import { fileURLToPath } from 'node:url'

import { describe, expect, it, jest } from '@jest/globals'

import { measureLostRequests } from '../bench/lost-requests.js'
import { envoyBinary, programs } from './support/mesh.js'

const CHANGES = 200

jest.setTimeout(600_000)

describe('requests while policies change', () => {
  it('are all answered, and each is served once', async () => {
    const { changes, sent, answered, served, failures } = await measureLostRequests({
      envoy: envoyBinary(),
      controllerProgram: fileURLToPath(new URL('../../packages/standalone/dist/controller.mjs', import.meta.url)),
      server: programs.http,
      idle: programs.idle,
      changes: CHANGES,
    })
    expect({ changes, answered, served, failures }).toEqual({
      changes: CHANGES,
      answered: sent,
      served: sent,
      failures: {},
    })
    // At least one for each change.
    expect(sent).toBeGreaterThan(CHANGES)
  })
})
