import { fileURLToPath } from 'node:url'

import type { Driver } from '@osm-ts/driver-api'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import { type LocalMode, LocalScenarioRunner } from '@osm-ts/driver-testkit'

import { type LoadedClass, startTestMesh } from '../mesh.js'

const actor = fileURLToPath(new URL('../../../dist/scenario-actor.mjs', import.meta.url))
const FILE = 'scenario.yaml'
/** No one calls a workload that a scenario takes away, and its successor waits until it has ended. */
const MAX_DRAIN_MS = 100

/** The runner of scenarios on a mesh that runs in the process of the tests. */
export function localRunner(
  mode: LocalMode,
  driver: Driver = createEnvoyDriver(),
  load?: () => Promise<LoadedClass>,
): LocalScenarioRunner {
  return new LocalScenarioRunner({
    mode,
    driver,
    actor,
    startMesh: async (documents, meshMode, sidecarClass) => {
      const settings = { maxDrainMs: MAX_DRAIN_MS }
      const files = { [FILE]: documents }
      const mesh = await startTestMesh(files, { mode: meshMode, sidecarClass, loaded: await load?.(), ...settings })
      return {
        stateFolder: mesh.stateFolder,
        write: (changed) => mesh.write(FILE, ...changed),
        debug: mesh.debug,
        stop: mesh.stop,
      }
    },
  })
}
