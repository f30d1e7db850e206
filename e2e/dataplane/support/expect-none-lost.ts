import { fileURLToPath } from 'node:url'

import { expect } from '@jest/globals'

import { measureLostRequests } from '../../bench/lost-requests.js'
import { programs, sidecarBinaries } from './mesh.js'

/** Changes the policies of a mesh under load, and expects of each request that it is answered and served once. */
export async function expectNoneLost(sidecarClass: string, times: number): Promise<void> {
  const { changes, sent, answered, served, failures } = await measureLostRequests({
    ...sidecarBinaries(),
    sidecarClass,
    controllerProgram: fileURLToPath(new URL('../../../packages/standalone/dist/controller.mjs', import.meta.url)),
    server: programs.http,
    idle: programs.idle,
    changes: times,
  })
  expect({ changes, answered, served, failures }).toEqual({
    changes: times,
    answered: sent,
    served: sent,
    failures: {},
  })
  // At least one for each change.
  expect(sent).toBeGreaterThan(times)
}
